# Makes the data directory of a new cluster of one voter from the snapshot. It needs:
# member (its name), peerurl, cluster (the list of members), token, bump (is added to the
# revision), and copied (yes: from a data directory, whose database has no hash).
need_room
rm -rf ./restored.part
set -- --data-dir ./restored.part --name "$member" --initial-cluster "$cluster" \
	--initial-cluster-token "$token" --initial-advertise-peer-urls "$peerurl" \
	--bump-revision "$bump" --mark-compacted
[ -z "$copied" ] || set -- "$@" --skip-hash-check
etcdutl snapshot restore ./snapshot.db "$@" >./log 2>&1 9>&- || {
	tail -c 500 ./log >&2
	exit 1
}
[ -n "$user" ] || user=$(systemctl show -p User --value "$unit")
group=$(systemctl show -p Group --value "$unit")
[ -n "$user" ] || user=root
[ -n "$group" ] || group=$(id -gn "$user")
chown -RhP "$user:$group" ./restored.part
sync -f ./restored.part/member/snap/db
