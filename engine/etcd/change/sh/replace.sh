# Puts the new data in the place of the old ones. It can be repeated at any point; note.sh
# follows.
need_room
[ -d ./restored ] || {
	echo "there are no new data" >&2
	exit 1
}
node=$(stat -c %d:%i ./restored)
systemctl disable "$unit" 9>&- || : # a boot before the next step would start it without its log
systemctl stop "$unit" 9>&-
set_log_aside
rename_aside
need_room
mv -nT ./restored "../$base"
[ "$(stat -c %d:%i "../$base" 2>/dev/null)" = "$node" ] || {
	echo "somebody else changes $parent: the new data are not in $base" >&2
	exit 1
}
sync ..
sync .
