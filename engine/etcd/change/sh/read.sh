# Prints the size and the time of a database, and then a part of it, in base64. It needs:
# built (yes: the database that a restore has built; '': the database of the data directory),
# offset and length (bytes).
if [ -n "$built" ]; then
	need_room
	db=./restored.part/member/snap/db
else
	enter_database
	db=./db
fi
need_database "$db"
stat -c '%s %Y' "$db"
dd if="$db" bs=64K iflag=nofollow,nonblock,skip_bytes,count_bytes skip="$offset" count="$length" 2>/dev/null | base64 -w 0
