# Undoes a write on probation, and waits until that is done. If a new login has proved
# itself, the write stays, and the script ends with 0.
[ ! -e "$tx/proved" ] || exit 0
if [ -e "$tx/probation" ]; then : >"$tx/undo"; fi
waits=0
while [ -e "$tx/probation" ] || [ -e "$tx/undoing" ]; do
	if [ "$waits" -ge 60 ] || ! kill -0 "$(cat "$tx/watcher")" 2>/dev/null; then
		[ -e "$tx/probation" ] || [ -e "$tx/undoing" ] || break
		complain "$doing: the write could not be undone: $(head -c 2000 "$tx/told" 2>/dev/null || :)"
		exit 80
	fi
	sleep 1
	waits=$((waits + 1))
done
[ ! -e "$tx/proved" ] || exit 0
say "$doing: all was put back"
exit 79
