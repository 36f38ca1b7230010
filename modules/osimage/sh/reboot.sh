# Runs as the transient unit. It is ordered after ostree-finalize-staged.service, so
# systemd stops it before that service, which then finds the deployment unlocked.
# Without a digest it changes no deployment. It needs: asked (uptime, in seconds, at
# which the order to reboot arrived).
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
# From here on the host counts as rebooting. logind may delay the shutdown, and this
# unit ends before: only this file shows the reboot until it starts.
read -r up rest </proc/uptime
say "${up%%.*}" >"$work/rebooting"
if allow && systemctl reboot; then exit 0; fi
# The order may have arrived although systemctl reports a failure, because the bus stops
# with all other services.
n=0
while [ "$n" -lt 10 ] && [ "$locked" = no ]; do
	[ "$(systemctl is-system-running)" != stopping ] || exit 0
	sleep 1
	n=$((n + 1))
done
rm -f "$work/rebooting"
[ -z "$digest" ] || lock
exit 1
