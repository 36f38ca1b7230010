# Prints the services that holdfast lets run on during a soft reboot, as paragraphs of NAME=VALUE:
# properties of the unit, and which root, mounts and deployment its process has and the host has.
# It needs survivors.sh of hostscript.
list_survivors
for unit in $survivors; do
	shown=$(timeout 10 systemctl show --property=Id,MainPID,SurviveFinalKillSignal,IgnoreOnIsolate,PrivateMounts,Conflicts,Requires,BindsTo,PartOf -- "$unit") || continue
	printf '%s\n' "$shown"
	pid=${shown#*MainPID=}
	pid=${pid%%[!0-9]*}
	[ "${pid:-0}" != 0 ] || {
		echo
		continue
	}
	printf 'Root=%s\n' "$(print_root "$pid")"
	printf 'HostRoot=%s\n' "$(print_root 1)"
	printf 'Mounts=%s\n' "$(readlink "/proc/$pid/ns/mnt")"
	printf 'HostMounts=%s\n' "$(readlink /proc/1/ns/mnt)"
	print_deployment "$pid" Deployment
	echo
done
