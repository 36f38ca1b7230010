# Checks that nothing forbids a reboot of the host, before its order changes anything. It needs inhibitors.sh.

# is_watched reports whether a write on probation still has its watch, which holds the lock of writes. A power cut ends the
# watch and leaves the directory.
is_watched() {
	if ! command -v flock >/dev/null 2>&1; then
		watch=$(cat "${1%/*}/watcher" 2>/dev/null) && kill -0 "$watch" 2>/dev/null
	elif [ ! -e /var/lib/holdfast/write.lock ] || flock -n /var/lib/holdfast/write.lock true; then
		return 1
	fi
}
for trial in /var/lib/holdfast/tx/*/probation; do
	[ ! -e "$trial" ] || ! is_watched "$trial" || refuse_changed "reboot: a write of holdfast waits for a new login, and is undone without one within minutes; try again then"
done
if is_shutdown_blocked; then
	advice='wait until it has finished, or end it (systemd-inhibit --list shows it)'
	case $inhibitors in 'perhaps: '*) advice='restart it (systemctl restart systemd-logind)' ;; esac
	refuse_changed "reboot: $problem; $advice"
fi
