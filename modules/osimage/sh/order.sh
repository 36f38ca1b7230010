# Reboots in a transient unit, which continues if this script or its connection ends.
# It needs: what (for messages), unit, job, kind (soft, kexec, or nothing), and asked (uptime at
# which the order arrived).
kind=${kind:-}

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
[ -d "$work" ] || mkdir -m 0700 "$work"
log=$work/finalize.log
if is_unit_busy "$unit"; then log=/dev/null; else rm -f "$log"; fi # the log of another order has no reason of this one
script=$(mktemp "$work/finalize.XXXXXX")
printf '%s\n' "asked=${asked%%.*}" "$job" >"$script"
say "${kind:+$kind }rebooting$what"
systemd-run --quiet --collect --wait --unit="$unit" --description="holdfast: ${kind:+$kind }reboot$what" \
	--property=After=ostree-finalize-staged.service /bin/sh "$script" || {
	code=$?
	rm -f "$script"
	[ "$code" != 75 ] || check_hold # check_hold prints who took the host meanwhile
	tail -n 20 "$log" >&2 2>/dev/null || :
	exit "$code"
}
if [ -n "$kind" ] && [ -e "$work/not-$kind" ]; then cat "$work/not-$kind"; fi
