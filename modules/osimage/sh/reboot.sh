# Runs as the transient unit, which starts after ostree-finalize-staged.service. At
# shutdown systemd stops the unit before that service, which then finds the deployment
# unlocked. Without a digest the script changes no deployment. It needs: asked (uptime,
# in seconds, at which the order to reboot arrived), and survivors.sh.
set -eu
trap '' HUP TERM # the shutdown that this script orders must not end it halfway
exec >"$work/finalize.log" 2>&1
rm -f "$0"
claim_host "a reboot" # from here on nobody can take a hold
prepare_reboot
timeout 5 sync || : # writes the data since the last sync
read -r up rest </proc/uptime
late=$((${up%%.*} - asked))
[ "$late" -le 90 ] || {
	say "reboot: $late s have passed since the order to reboot, and so since etcd was asked; the host does not reboot" >&2
	exit 76
}
if [ -n "$digest" ]; then check_survivors finalize; fi # ostree removes a deployment when it finalizes another
allow_staged() {
	locked=no
	[ -z "$digest" ] || unlock_staged
}
# From here on, the host counts as rebooting. logind may delay the shutdown after this
# unit has ended. Until the shutdown starts, only this file shows the reboot.
read_boot_id
read -r up rest </proc/uptime
say "${up%%.*} $bootid" >"$work/rebooting"
# Without these variables, systemctl turns a reboot into a soft reboot or a kexec if somebody
# has prepared one.
export SYSTEMCTL_SKIP_AUTO_SOFT_REBOOT=1 SYSTEMCTL_SKIP_AUTO_KEXEC=1
failed=1 ordered=''
if allow_staged && prepare_kind; then
	ordered=yes
	if order_reboot; then exit 0; fi
fi
# systemctl may report a failure although the order has arrived, because the bus stops
# with all other services.
n=0
while [ "$n" -lt 10 ] && [ -n "$ordered" ]; do
	[ "$(systemctl is-system-running)" != stopping ] || exit 0
	sleep 1
	n=$((n + 1))
done
rm -f "$work/rebooting"
undo_kind
[ -z "$digest" ] || [ ! -e "$deployment" ] || lock_staged
exit "$failed"
