# Prints the services that holdfast lets run on during a soft reboot, as paragraphs of NAME=VALUE:
# properties of the unit, whether its drop-in is missing still, sockets that a soft reboot stops, and
# which root, mounts and deployment its process has and the host has. It needs survivors.sh of
# hostscript, and wanted: the services that are to get the drop-in.
list_survivors
installed=" $survivors "
for unit in $wanted; do
	case $installed in *" $unit "*) ;; *) survivors="$survivors $unit" ;; esac
done

# print_sockets prints the sockets of a service that a soft reboot stops. It reads shown.
print_sockets() {
	triggers=''
	while IFS='=' read -r name value; do
		[ "$name" != TriggeredBy ] || triggers=$value
	done <<-END
		$shown
	END
	for socket in $triggers; do
		case $socket in
		*[!A-Za-z0-9:_.@-]*) ;;
		*.socket)
			case " $(timeout 10 systemctl show --property=Conflicts --value -- "$socket") " in
			*' shutdown.target '*) printf 'StoppedSocket=%s\n' "$socket" ;;
			esac
			;;
		esac
	done
}

for unit in $survivors; do
	shown=$(timeout 10 systemctl show --property=Id,LoadState,Type,MainPID,SurviveFinalKillSignal,IgnoreOnIsolate,PrivateMounts,RootImage,RootDirectory,Conflicts,Requires,BindsTo,PartOf,TriggeredBy -- "$unit") || continue
	printf '%s\n' "$shown"
	case $installed in *" $unit "*) ;; *) echo Foretold=yes ;; esac
	print_sockets
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
