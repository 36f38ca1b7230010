# Ends the hold of the run. The part after the removal of the hold also runs on a host
# without a hold, so that a release finishes an earlier release that was interrupted. It
# needs: own, shown, most (bytes of a hold), updated (file for the time; '': none), accepts
# (digest of an OS that is not rejected any more; '': none), rejected (file of the rejected
# ones), boot (for which that is so; '': any), whole (yes: the host is whole again), unproven
# (file for the hold of a run that a person ends), helpers, units, dropin, motdfile and motdtext,
# and refusereboots.sh.
if hold_exists; then
	if [ -n "$shown" ]; then
		is_shown || refuse_held
	else
		has_part "$old" "$own" || refuse_held
	fi
	if [ -n "$updated" ]; then
		format_time "$later" >"$tmp"
		sync "$tmp"
		mv -fT "$tmp" "$updated"
		sync "$dir"
	fi
	if [ -n "$accepts" ] && [ -f "$rejected" ] && { [ -z "$boot" ] || ! is_boot_gone; }; then
		while read -r line || [ -n "$line" ]; do
			[ "$line" = "$accepts" ] || printf '%s\n' "$line"
		done <"$rejected" >"$tmp"
		sync "$tmp"
		mv -fT "$tmp" "$rejected"
		sync "$dir"
	fi
	if [ -n "$whole" ]; then
		rm -rf "$unproven"
		sync "$dir"
	fi
	# The hold of a run tells how the host was before the disruption.
	if [ -z "$whole" ] && [ -n "$shown" ] && has_part "$old" '"kind":"run"' && has_part "$old" '"failed_units":['; then
		rm -rf "$unproven"
		mv -fT "$file" "$unproven"
	else
		rm -rf "$file" # somebody may have made it a folder
	fi
	sync "$dir"
fi
allow_reboots || printf '%s\n' "hold: the host may still refuse reboots" >&2
rm -f "$motdfile" "$motdtext"
reload=
for unit in $helpers; do
	[ -e "$units/$unit.d/$dropin" ] || continue
	read_boot_id
	idle=
	read -r idle <"$units/$unit.d/$dropin" || :
	if [ -z "$bootid" ] || [ "$idle" != "# idle in boot $bootid" ]; then idle=; fi
	if has_part "$stopped" "\"$unit\"" || { [ -z "$idle" ] && systemctl is-enabled --quiet "$unit"; }; then
		systemctl start "$unit" || printf '%s\n' "hold: $unit does not start again" >&2
	fi
	# Last: a drop-in that is left tells the next release to finish this one.
	rm -f "$units/$unit.d/$dropin"
	rmdir "$units/$unit.d" 2>/dev/null || :
	reload=yes
done
if [ -n "$reload" ]; then systemctl daemon-reload; fi
