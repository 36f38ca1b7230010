# Restarts services that have survived a soft reboot, so that they run from the booted deployment.
# It waits for their start. It needs: units (names), always (yes: also those that run from it), verb (restart, or stop: the
# services stop, and nothing else).
claim_host "a $verb of services"
for unit in $units; do
	if [ "$verb" = stop ]; then
		echo "stopping $unit"
		timeout 100 systemctl stop -- "$unit" 9>&- || {
			echo "$unit does not stop: journalctl -u $unit" >&2
			exit 1
		}
		continue
	fi
	pid=$(systemctl show --property=MainPID --value -- "$unit" 9>&-)
	if [ -z "$always" ] && [ "${pid:-0}" != 0 ] && [ "$(print_root "$pid")" = "$(print_root 1)" ]; then
		echo "$unit runs from the booted OS"
		continue
	fi
	echo "restarting $unit"
	systemctl reset-failed -- "$unit" 2>/dev/null 9>&- || :
	timeout 100 systemctl restart -- "$unit" 9>&- || {
		echo "$unit does not start: journalctl -u $unit" >&2
		exit 1
	}
done
