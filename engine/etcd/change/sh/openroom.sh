# Records a restore on the host, stops etcd, and makes the room. It removes the files of an
# earlier restore. It needs: newrecord.
write_state "$record" "$newrecord"
systemctl stop "$unit" 9>&-
remove_room
enter_folder "$parent"
name=$(od -An -v -N 16 -tx1 /dev/urandom | tr -d ' \n')
write_state "$place" "$name"
mkdir -m 0700 "./.holdfast-restore-$name"
need_room
# shellcheck disable=SC2174 # write_state has made $state
mkdir -p -m 0700 "$state/plain"
remove_acls "$state/plain" || {
	echo "$parent: $output" >&2
	exit 1
}
rmdir "$state/plain"
