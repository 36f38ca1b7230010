# Lets the staged deployment take effect and reboots into it. Whatever is not
# as planned ends the script before anything has changed. Unlocking and
# rebooting is the work of one transient unit, so that no end of this script
# or its connection leaves a deployment unlocked and the host running.
# It needs: boot (ID of the boot that was planned for), unit, job.
now=$(cat /proc/sys/kernel/random/boot_id)
[ "$now" = "$boot" ] || changed "finalize: the host has rebooted since it was planned"
look
[ -n "$staged" ] || changed "finalize: nothing is staged"
planned || changed "finalize: $staged is staged, which is not $digest"
[ "$locked" = yes ] || changed "finalize: $staged is not locked any more"
# It does its work when it is stopped, so it has to be running.
systemctl start ostree-finalize-staged.service || changed "finalize: ostree-finalize-staged.service does not start"

[ -d "$work" ] || mkdir -m 0700 "$work"
script=$(mktemp "$work/finalize.XXXXXX")
printf '%s\n' "$job" >"$script"
say "rebooting into $digest"
systemd-run --quiet --collect --wait --unit="$unit" --description="holdfast: reboot into $digest" \
	--property=After=ostree-finalize-staged.service /bin/sh "$script" || {
	code=$?
	rm -f "$script"
	tail -n 20 "$work/finalize.log" >&2 || :
	exit "$code"
}
