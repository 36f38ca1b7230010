# Reboots in a transient unit, which continues if this script or its connection ends.
# It needs: what (for messages), unit, job, kind (soft, kexec, or nothing), member (yes: the host is
# a member of etcd), and asked (uptime at which the order arrived).
kind=${kind:-}

[ -d "$work" ] || mkdir -m 0700 "$work"
log=$work/finalize.log
if is_unit_busy "$unit"; then log=/dev/null; else rm -f "$log"; fi # the log of another order has no reason of this one
script=$(mktemp "$work/finalize.XXXXXX")
printf '%s\n' "asked=${asked%%.*} member=$member" "$job" >"$script"
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
