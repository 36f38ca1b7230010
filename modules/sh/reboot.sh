# Runs as the transient unit. Being ordered after ostree-finalize-staged.service
# it is also stopped before that, which then finds the deployment unlocked.
# Without a digest no deployment is to take effect, and none is touched.
# It needs: asked (uptime, in seconds, at which the order to reboot came).
set -eu
trap '' HUP TERM # the shutdown it orders must not end it half way
exec >"$work/finalize.log" 2>&1
rm -f "$0"
claim "a reboot" # which nobody takes the host from any more
prepare
timeout 5 sync || : # the little that has been written since all was
read -r up rest </proc/uptime
late=$((${up%%.*} - asked))
[ "$late" -le 90 ] || {
	say "reboot: $late s have passed since the order to reboot, and so since etcd was asked; the host does not reboot" >&2
	exit 76
}
allow() {
	locked=no
	[ -z "$digest" ] || unlock
}
# From here on the host is as good as gone. logind may delay the shutdown that it
# is asked for, and this unit is over by then: nothing else tells until it begins.
read -r up rest </proc/uptime
say "${up%%.*}" >"$work/rebooting"
if allow && systemctl reboot; then exit 0; fi
# The order may have been heard although systemctl says that it failed,
# because the bus goes down with everything else.
n=0
while [ "$n" -lt 10 ] && [ "$locked" = no ]; do
	[ "$(systemctl is-system-running)" != stopping ] || exit 0
	sleep 1
	n=$((n + 1))
done
rm -f "$work/rebooting"
[ -z "$digest" ] || lock
exit 1
