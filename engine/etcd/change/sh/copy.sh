# Copies the database of the stopped etcd into the room. An account may own its folder.
case $(systemctl is-active "$unit" || :) in
active | activating | reloading | deactivating)
	echo "$unit still runs" >&2
	exit 1
	;;
esac
needroom
rm -f ./snapshot.db
set -C
exec 8>./snapshot.db
set +C
enterdatabase
needdatabase ./db
size=$(stat -c %s ./db)
dd if=./db bs=1M iflag=nofollow,nonblock,count_bytes count="$size" 2>/dev/null >&8
exec 8>&-
needroom
[ "$(stat -c %s ./snapshot.db)" = "$size" ] || {
	echo "the database cannot be copied" >&2
	exit 1
}
sync ./snapshot.db
