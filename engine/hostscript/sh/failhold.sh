# Writes into the hold of the run that the run failed on the host. It needs: own, and failed
# (the lines with the reason and the step).
if ! found; then
	printf '%s\n' "hold: the host is not held" >&2
	exit 75
fi
has "$old" "$own" || held
while IFS= read -r line; do
	case $line in
	'"renewed":'*) line="\"renewed\":\"$(stamp "$now")\"" ;;
	'"expires":'* | '"step":'*) continue ;;
	'"reason":'*) line=$failed ;;
	esac
	printf '%s\n' "$line"
done <"$file" >"$tmp"
sync "$tmp"
mv -f "$tmp" "$file"
sync "$dir"
cat "$file"
