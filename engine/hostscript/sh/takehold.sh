# Takes, renews or adopts a hold, and prints it. It needs: own (lines of the hold that name
# its owner), adopt (line of the run whose hold may be adopted; '': none), seen (line with
# the time at which that hold was renewed; '': any), head (first lines of the new hold),
# lasts (seconds; 0: for ever; below 0: until the end of the hold of own, without which the
# script changes nothing), shown (digest of the hold to write again, not to a sooner end; '':
# any), note and rollout (the roll-out to record, and its file), helpers, units, dropin, stageunit, motd, motdfile and motdtext, why and described (reason of a
# hold for which the host refuses reboots; '': it does not), bootid.sh and refusereboots.sh.
acquired=$(format_time "$now")
expires=
if [ "$lasts" -gt 0 ]; then expires=$(format_time $((later + lasts))); fi
how=new
bootid=
if [ -n "$why" ]; then read_boot_id; fi
if hold_exists; then
	if [ -n "$shown" ] && ! is_shown; then # somebody has written the hold since it was read, or this script has, and its answer was lost
		has_part "$old" "{
$head
\"acquired\":" || refuse_held
	fi
	if has_part "$old" "$own"; then
		how=replace
		if has_part "$old" '"acquired":"'; then
			acquired=${old#*'"acquired":"'}
			acquired=${acquired%%\"*}
		fi
		if { [ "$lasts" -lt 0 ] || { [ "$lasts" -gt 0 ] && [ -n "$shown" ]; }; } && has_part "$old" '"expires":"'; then
			until=${old#*'"expires":"'}
			until=${until%%\"*}
			if [ "$lasts" -lt 0 ] || [ "$(date -u -d "$until" +%s)" -gt $((later + lasts)) ]; then expires=$until; fi
		fi
		if has_part "$old" '"boot":"'; then # an extended hold still tells of a reboot
			bootid=${old#*'"boot":"'}
			bootid=${bootid%%\"*}
		fi
	elif has_part "$old" "$adopt" && has_part "$old" '"kind":"run"' && { [ -z "$seen" ] || has_part "$old" "$seen"; }; then
		how=adopt
	else
		refuse_held
	fi
elif [ "$lasts" -lt 0 ] || [ -n "$shown" ]; then # somebody has ended the hold since it was read
	printf '%s\n' 'hold: the hold has ended; nothing was done' >&2
	exit 75
fi

# The conditions are written before the hold, and the hold names the helpers
# before they are stopped. So a release starts them again after any interruption.
reload=
for unit in $helpers; do
	systemctl cat "$unit" >/dev/null 2>&1 || continue
	if [ ! -e "$units/$unit.d/$dropin" ]; then
		idle='' # a helper that somebody has stopped stays so: its first line tells the release
		systemctl is-active --quiet "$unit" || idle=$(read_boot_id && printf '# idle in boot %s' "$bootid")
		(umask 022 && mkdir -p "$units/$unit.d" &&
			printf '%s\n[Unit]\nConditionPathExists=!%s\n' "$idle" "$file" >"$units/$unit.d/$dropin")
		reload=yes
	fi
	if ! has_part "$stopped" "\"$unit\"" && systemctl is-active --quiet "$unit"; then
		stopped="${stopped:+$stopped,}\"$unit\""
	fi
done
if [ -n "$reload" ]; then systemctl daemon-reload; fi

until=
{
	printf '{\n%s\n"acquired":"%s",\n' "$head" "$acquired"
	if [ -n "$expires" ]; then printf '"expires":"%s",\n' "$expires"; fi
	if [ -n "$stopped" ]; then printf '"stopped_units":[%s],\n' "$stopped"; fi
	if [ -n "$bootid" ]; then printf '"boot":"%s",\n' "$bootid"; fi
	printf '"renewed":"%s"\n}\n' "$(format_time "$now")"
} >"$tmp"
sync "$tmp"

# The roll-out is written to disk before the hold, so that a full disk is found
# before anything has happened. The file gets its name after the hold.
if [ -n "$note" ]; then
	note="{
$note
}"
	had=
	if [ -f "$rollout" ]; then had=$(tr '\000' '?' <"$rollout"); fi # sh would leave zero bytes out
	if [ "$had" = "$note" ]; then
		note=
	else
		printf '%s\n' "$note" >"$tmp.rollout"
		sync "$tmp.rollout"
	fi
fi
if [ "$how" = new ]; then
	ln "$tmp" "$file" 2>/dev/null || refuse_held
	rm -f "$tmp"
else
	mv -f "$tmp" "$file"
fi
sync "$dir"
if [ -n "$note" ]; then
	mv -fT "$tmp.rollout" "$rollout"
	sync "$dir"
fi

# end_update ends the service of a timer. It goes on without its timer, and reboots the host when it has fetched an update. So
# does the daemon of rpm-ostree without its client.
end_update() {
	case $(systemctl show --property=ActiveState --value "$1" 2>/dev/null 9>&-) in
	active | activating | reloading | deactivating) ;;
	*) return 0 ;;
	esac
	systemctl stop "$1" 9>&- || printf '%s\n' "hold: $1 cannot be stopped" >&2
	case $(rpm-ostree status 2>/dev/null 9>&-) in
	*"unit:$1"*) timeout 30 rpm-ostree cancel >/dev/null 9>&- || printf '%s\n' "hold: rpm-ostree goes on with an update" >&2 ;;
	esac
}
for unit in $helpers; do
	if has_part "$stopped" "\"$unit\""; then systemctl stop "$unit" 9>&-; fi
	case $unit in
	*.timer) [ ! -e "$units/$unit.d/$dropin" ] || end_update "${unit%.timer}.service" ;;
	esac
done

# Staging needs no hold, so a new hold stops it. A staging unit that has started
# takes the lock and checks the hold, so a unit that starts later stops itself.
if [ "$how" != replace ]; then
	case $(systemctl show --property=ActiveState --value "$stageunit" 2>/dev/null 9>&-) in
	active | activating | reloading | deactivating)
		systemctl stop "$stageunit" 9>&- || printf '%s\n' "hold: $stageunit cannot be stopped" >&2
		;;
	esac
fi
if [ -n "$why" ]; then
	refuse_reboots "$why" "$described" || printf '%s\n' "hold: the host does not refuse reboots" >&2
else
	allow_reboots || :
fi
if [ -n "$expires" ]; then until=" until $expires"; fi
# The user who logs in reads the notice, so its text lies outside of $dir. /etc
# has only a link to the text: each OS has its own copy of /etc, and a release
# removes the link from one copy, but the text for all.
(
	umask 022
	printf '%s since %s%s. Do not reboot or change it; "holdfast release" on the bastion ends the hold.\n' "$motd" "$acquired" "$until" >"$motdtext"
	mkdir -p "${motdfile%/*}"
	ln -sf "$motdtext" "$motdfile"
) || printf '%s\n' "hold: $motdfile cannot be written" >&2
cat "$file"
