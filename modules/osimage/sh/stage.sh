# Stages the planned OS as a locked deployment. It needs lib.sh and bootspace.sh. A
# transient unit does the work, and continues if this script or its connection ends. It
# needs survivors.sh, and: unit, job (script), sysroot, minfree (bytes), limit and stoplimit
# (seconds, of the unit and of its end), governed (yes: the unit gets its own cgroup, to be
# frozen in). An OS from the bastion also needs: bastion (its identity), and port, where the
# bastion answers on 127.0.0.1. The unit runs the command after (without quotes) at its end,
# even if the unit is killed.
port=${port:-} bastion=${bastion:-} after=${after:-}
about="holdfast: stage $digest${bastion:+ from bastion $bastion}"
log=$work/stage.log
result=$work/stage.result

# await_staged waits until the unit has ended, and reports whether the planned OS is staged.
await_staged() {
	while is_unit_busy "$unit"; do sleep 0.5; done
	read_staged
	has_planned_os && has_planned_args || return 1
	[ "$locked" = yes ] || {
		lock_staged
		read_staged
	}
	[ "$locked" = yes ] && has_planned_os && has_planned_args
}

report_staged() {
	check_boot stage
	say "staged and locked: $digest"
	exit 0
}

# A transfer from the bastion ends with its connection. If a unit of an earlier
# connection of the same bastion still runs, it waits for data that will not come, so
# the script stops the unit. Data that the unit has fetched stay.
if [ -n "$bastion" ] && is_unit_busy "$unit" && [ "$(systemctl show --property=Description --value "$unit")" = "$about" ]; then
	say "ending the transfer through an earlier connection"
	systemctl stop "$unit" || :
fi
if is_unit_busy "$unit"; then say "waiting for a staging that is under way"; fi
if await_staged; then report_staged; fi
check_hold
check_survivors stage

kib=$(df -Pk "$sysroot" | {
	read -r _
	read -r _ _ _ kib _
	say "$kib"
})
case $kib in
'' | *[!0-9]*)
	say "stage: the free space in $sysroot is not known" >&2
	exit 1
	;;
esac
free=$((kib * 1024))
if [ "$free" -lt "$minfree" ]; then
	say "stage: $((free / 1048576)) MiB are free in $sysroot, $((minfree / 1048576)) MiB are needed; ostree admin cleanup or undeploy frees some, min_free in the inventory changes the limit" >&2
	exit 77
fi

[ -d "$work" ] || mkdir -m 0700 "$work"
script=$(mktemp "$work/stage.XXXXXX")
printf '%s\n' "port=$port" "$job" >"$script"
say "staging $digest"
is_unit_busy "$unit" || rm -f "$log" "$result" # of an earlier staging
delegate=no nice=19
if [ "$governed" = yes ]; then delegate=yes nice=0; fi # the job lowers the priority of the staging itself
# The unit has the lowest priority in every way; docs/hosts.md says which way helps
# when.
systemd-run --quiet --collect --unit="$unit" --description="$about" \
	--property=IOSchedulingClass=idle --property=IOWeight=1 \
	--property=CPUWeight=1 --property=Nice="$nice" --property=RuntimeMaxSec="$limit" --property=TimeoutStopSec="$stoplimit" \
	--property=Delegate="$delegate" ${after:+"--property=ExecStopPost=/bin/sh -c '$after'"} \
	/bin/sh "$script" || {
	rm -f "$script"
	is_unit_busy "$unit" || exit 1 # if busy, another run was faster: wait for its unit
}
if await_staged; then report_staged; fi
check_hold # a person who took the host has stopped the unit

code=$(cat "$result" 2>/dev/null) || code=1
[ -e "$log" ] || say "$unit ended before it staged anything; journalctl --unit=$unit may have the reason" >"$log"
if [ "$code" = 81 ]; then
	tail -n 1 "$log" >&2
	exit 81
fi
say "stage: the deployment is not staged; the end of the log of $unit:" >&2
tail -n 20 "$log" >&2 || :
case $(tail -n 20 "$log") in
*'No space left on device'* | *min-free-space*) exit 77 ;;
esac
[ "$code" -ne 0 ] || code=1
exit "$code"
