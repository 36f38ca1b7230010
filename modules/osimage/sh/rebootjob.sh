# Runs as the transient unit, which starts after ostree-finalize-staged.service. At
# shutdown systemd stops the unit before that service, which then finds the deployment
# unlocked. Without a digest the script changes no deployment. It needs: asked (uptime,
# in seconds, at which the order to reboot arrived), member (yes: the host is a member of etcd), survivors.sh and inhibitors.sh.
set -eu
trap '' HUP TERM # the shutdown that this script orders must not end it halfway
exec >"$work/finalize.log" 2>&1
rm -f "$0"
failed=1 ordered='' unlocked='' next='' void='' preparing='' slow=''

# is_order_void reports whether the host must not reboot any more, and sets problem. Since the order, other members of
# etcd may have gone down, and a program may have begun to write firmware. The time comes last, because logind may take long. On a
# host that is no member of etcd, the time of prepare_kind does not count: nobody asked etcd.
is_order_void() {
	if is_shutdown_blocked; then return 0; fi
	read -r up rest </proc/uptime
	late=$((${up%%.*} - asked))
	problem="$late s have passed since the order to reboot"
	if [ "$member" = yes ]; then
		problem="$problem, and at least as many since the check of etcd"
	elif [ -n "$preparing" ]; then
		return 1
	fi
	[ "$late" -gt 90 ] || return 1
	if [ -n "$preparing" ]; then slow='; if it is always this slow, use --full-reboot, or forbid soft reboots and kexecs in its pool'; fi
}

# refuse_order ends the script. The reason is the first line of the log. Arguments: exit status, reason.
refuse_order() {
	exec >"$work/finalize.log" 2>&1
	say "reboot: $2"
	exit "$1"
}

# allow_staged lets the staged deployment take effect at a reboot, and reports whether it does and is still the planned one: a
# program that changes deployments may have replaced it since the check of the order. Unlocking writes the deployment anew, so
# its sum is compared right before, and its OS afterwards. From 2023.8 on, ostree waits until such a program has ended, which
# may take an hour. It sets problem.
allow_staged() {
	if [ -z "$digest" ]; then
		if has_unlocked_staged; then return 1; fi
		return 0
	fi
	is_staged_planned || return 1
	problem="$staged is not as holdfast has staged it"
	has_planned_args || return 1
	unlocked=yes code=0
	timeout -k 5 30 ostree admin lock-finalization --unlock >/dev/null 2>&1 || code=$?
	problem="ostree cannot unlock $staged, because another program changes the deployments"
	case $code in 124 | 137) return 1 ;; esac
	rm -f "$lockfile"
	is_staged_planned || return 1
	problem="ostree does not unlock $staged"
	[ "$locked" = no ]
}

is_staged_planned() {
	problem='ostree admin status fails, so the staged OS is not known'
	read_staged || return 1
	problem="${staged:-nothing} is staged now, and not $digest"
	has_planned_os
}

# read_next sets next to COMMIT.SERIAL of the deployment that the host would boot next. read_default does the same, as if nothing
# were staged; it sets running to nothing if that deployment does not run. Both fail if ostree does.
read_next() { next='' && read_status note_next; }
# shellcheck disable=SC2317 # read_status calls it
note_next() {
	next=$id
	return 1
}
read_default() { next='' && read_status note_default; }
# shellcheck disable=SC2317 # read_status calls it
note_default() { is_staged || note_next; }

# is_next_unplanned reports whether the host would boot another OS than the planned one, and sets problem.
is_next_unplanned() {
	[ -n "$digest" ] || return 1
	problem='ostree admin status fails, so the OS that the host would boot is not known'
	read_next || return 0
	problem="the host would boot ${next:-nothing}, and not $digest"
	[ -z "$next" ] || ! deployment_is_os "$next" "$digest"
}

# order_planned orders the reboot, or sets failed. An order that was void once, which prepare_kind tells in void, stays void: no
# deployment was finalized for it.
order_planned() {
	failed=76
	if ! allow_staged || is_order_void; then return 1; fi
	failed=1 preparing=yes
	prepare_kind || return 1
	if [ -n "$void" ] || is_next_unplanned || is_order_void; then
		failed=76
		return 1
	fi
	ordered=yes
	order_reboot
}

# lock_again locks the staged deployment that allow_staged has unlocked, unless it is another one by now.
lock_again() {
	[ -n "$unlocked" ] && [ -e "$deployment" ] || return 0
	if ! read_staged || { [ "$locked" = no ] && has_planned_os; }; then lock_staged; fi
}

# has_new_default reports whether ostree has finalized the planned deployment, or whether that is not known, and sets next.
has_new_default() {
	[ -n "$unlocked" ] || return 1
	read_default || {
		next='an unknown OS'
		[ ! -e "$deployment" ]
		return
	}
	[ -n "$next" ] && [ -z "$running" ] && deployment_is_os "$next" "$digest"
}

claim_host "a reboot" # from here on nobody can take a hold
prepare_reboot
timeout 5 sync || : # writes the data since the last sync
if is_order_void; then refuse_order 76 "$problem; the host does not reboot"; fi
if [ -n "$digest" ]; then check_survivors finalize; fi # ostree removes a deployment when it finalizes another
# From here on, the host counts as rebooting. logind may delay the shutdown after this
# unit has ended. Until the shutdown starts, only this file shows the reboot.
read_boot_id
read -r up rest </proc/uptime
say "${up%%.*} $bootid" >"$work/rebooting"
# Without these variables, systemctl turns a reboot into a soft reboot or a kexec if somebody
# has prepared one.
export SYSTEMCTL_SKIP_AUTO_SOFT_REBOOT=1 SYSTEMCTL_SKIP_AUTO_KEXEC=1
if order_planned; then exit 0; fi
# systemctl may report a failure although the order has arrived, because the bus stops
# with all other services.
n=0
while [ "$n" -lt 10 ] && [ -n "$ordered" ]; do
	[ "$(systemctl is-system-running)" != stopping ] || exit 0
	sleep 1
	n=$((n + 1))
done
rm -f "$work/rebooting"
reason=$problem
undo_kind
lock_again
[ "$failed" = 76 ] || exit "$failed"
if has_new_default; then
	refuse_order 80 "$reason; the host does not reboot, but $next is the default of the boot loader now, so the next reboot or a power cut starts it; make the running OS the default again with ostree admin set-default, or reboot the host when etcd can spare it$slow"
fi
refuse_order 76 "$reason; the host does not reboot$slow"
