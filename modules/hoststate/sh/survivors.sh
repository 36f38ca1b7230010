# Prints the services that holdfast lets run on during a soft reboot, as paragraphs of NAME=VALUE:
# properties of the unit, and which root, mounts and deployment its process has and the host has.
# Nearly all hosts have none, and then the script starts no process. It needs: unitdir and dropin.
print_deployment() { # of the process $1, as the root of its mounts / and /etc in their file system
	while read -r _ _ _ root point _; do
		case $point in / | /etc) printf '%s=%s\n' "$2" "$root" ;; esac
	done 2>/dev/null <"/proc/$1/mountinfo"
}
for file in "$unitdir"/*.service.d/"$dropin"; do
	[ -e "$file" ] && grep -qx SurviveFinalKillSignal=yes "$file" || continue
	unit=${file%.d/*}
	unit=${unit##*/}
	shown=$(timeout 10 systemctl show --property=Id,MainPID,SurviveFinalKillSignal,IgnoreOnIsolate,PrivateMounts,Conflicts,Requires,BindsTo,PartOf -- "$unit") || continue
	printf '%s\n' "$shown"
	pid=${shown#*MainPID=}
	pid=${pid%%[!0-9]*}
	[ "${pid:-0}" != 0 ] || {
		echo
		continue
	}
	printf 'Root=%s\n' "$(stat -Lc %d:%i "/proc/$pid/root/" 2>/dev/null)"
	printf 'HostRoot=%s\n' "$(stat -Lc %d:%i /proc/1/root/ 2>/dev/null)"
	printf 'Mounts=%s\n' "$(readlink "/proc/$pid/ns/mnt")"
	printf 'HostMounts=%s\n' "$(readlink /proc/1/ns/mnt)"
	print_deployment "$pid" Deployment
	echo
done
