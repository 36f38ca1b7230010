# prepare_reboot makes the previous OS the one to boot next. It removes a staged deployment,
# which would be booted instead, or would hide the previous OS from the tools. A second
# call must change nothing, because the tools would swap the two deployments again. It
# needs: previous (commit), good (digest), and the functions drop_staged, restore_previous and
# restore_running, and survivors.sh.
prepare_reboot() {
	check_listed "roll back"
	trap 'end_rollback "$?"' EXIT
	read_staged
	if [ -n "$staged" ]; then drop_staged; fi
	read_deployments
	if [ "${first%.*}" != "$previous" ]; then restore_previous; fi
	read_staged
	read_deployments
	[ -z "$staged" ] && [ "${first%.*}" = "$previous" ] || {
		say "rollback: the host would still not boot $good, but ${staged:-$first}"
		exit 1
	}
}

# end_rollback makes the running OS the default again if the host does not reboot. Otherwise the
# next boot, such as after a power cut, would silently change the OS. It
# changes nothing if the order is unknown, because some tools would swap the two. Argument:
# exit status of the script.
end_rollback() {
	[ "$1" -ne 0 ] || exit 0
	read_deployments || first='' booted=OS
	if [ -n "$first" ] && [ "$first" != "$booted" ]; then
		restore_running || :
		read_deployments || first='' booted=OS
	fi
	[ "$first" = "$booted" ] || {
		say "rollback: the host does not reboot, and would boot ${first:-an unknown OS} next, not the running $booted; make that the default again, or reboot the host"
		exit 80
	}
	exit "$1"
}
