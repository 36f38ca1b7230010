# Writes into the hold of the run that the run failed on the host. It needs: own, and failed
# (the lines with the reason and the step), notbooted (digest of the OS that the host did not
# boot; '': none), and bootstate.sh.
if ! hold_exists; then
	printf '%s\n' "hold: the host is not held" >&2
	exit 75
fi
has_part "$old" "$own" || refuse_held
if [ -n "$notbooted" ]; then
	failed="$failed
\"not_booted\":{\"os\":\"$notbooted\",\"boot_state\":\"$(print_boot_state)\"},"
fi
while IFS= read -r line; do
	case $line in
	'"renewed":'*) line="\"renewed\":\"$(format_time "$now")\"" ;;
	'"expires":'* | '"step":'* | '"not_booted":'*) continue ;;
	'"reason":'*) line=$failed ;;
	esac
	printf '%s\n' "$line"
done <"$file" >"$tmp"
sync "$tmp"
mv -f "$tmp" "$file"
sync "$dir"
cat "$file"
