# Copies the database of the stopped etcd into the room. An account may own its folder.
case $(systemctl is-active "$unit" || :) in
active | activating | reloading | deactivating)
	echo "$unit still runs" >&2
	exit 1
	;;
esac
need_room
rm -f ./snapshot.db
free=$(df -Pk . | awk 'NR == 2 { print $4 }')
set -C
exec 8>./snapshot.db
set +C
enter_database
need_database ./db
# The file may have grown since the preflight, or be sparse: its copy is not.
size=$(stat -c %s ./db)
needed=$((size / 512 + 1048576))
[ "$free" -ge "$needed" ] || {
	echo "the copy of the database of $size bytes needs $needed KiB, and only $free KiB are free" >&2
	exit 1
}
dd if=./db bs=1M iflag=nofollow,nonblock,count_bytes count="$size" 2>/dev/null >&8
exec 8>&-
need_room
[ "$(stat -c %s ./snapshot.db)" = "$size" ] || {
	rm -f ./snapshot.db
	echo "the database cannot be copied" >&2
	exit 1
}
sync ./snapshot.db
