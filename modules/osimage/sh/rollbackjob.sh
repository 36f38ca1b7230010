# prepare_reboot makes the previous OS the one to boot next. It removes a staged deployment,
# which would be booted instead, or would hide the previous OS from the tools. A second
# call must change nothing, because the tools would swap the two deployments again. It
# needs: previous (commit), good (digest), and the functions drop_staged and restore_previous,
# and survivors.sh.
prepare_reboot() {
	check_listed "roll back"
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
