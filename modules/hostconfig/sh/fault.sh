# Stops a script that writes to a host, for tests only. In builds for production, point()
# does nothing.
#
# A script stops at a named point if /run/holdfast/fault contains the name: the script
# removes the file, creates fault-hit, and waits for fault-go. The points, in order:
# locked, unpacked, checked, prepared, saved, before, groups, users, rename N (before the
# Nth entry of the list of edits is replaced or removed), replaced, keys, units,
# probation (the host waits for a new login), written,
# act N, acted, record, recorded; while a write is undone: undoing, undone (everything is
# restored).
#
# If /run/holdfast/trace exists, each point adds a line to it: run, point, kind of the
# entry.
mark_point() {
	[ ! -e /run/holdfast/trace ] || printf '%s %s %s\n' "${run-}" "$1" "${kind-}" >>/run/holdfast/trace
	[ ! -e /run/holdfast/fault ] || stop_at "$1"
}
stop_at() {
	[ "$(cat /run/holdfast/fault)" = "$1" ] || return 0
	rm -f /run/holdfast/fault
	: >/run/holdfast/fault-hit
	sync /run/holdfast
	while [ ! -e /run/holdfast/fault-go ]; do sleep 0.1; done
	rm -f /run/holdfast/fault-go
}
