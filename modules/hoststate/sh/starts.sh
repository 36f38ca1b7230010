# Prints the services that run or wait to be started again, with their last start, and then
# the uptime, which is later than all starts. It prints nothing unless the host is held,
# because only a wait for units needs it, and systemctl show is slow. It needs: holdfile.
[ -e "$holdfile" ] || exit 0
systemctl show --property=Id,SubState,NRestarts,ActiveEnterTimestampMonotonic --state=running,auto-restart,auto-restart-queued '*.service' &&
	read -r up rest </proc/uptime && printf '\nUptime=%s\n' "$up"
