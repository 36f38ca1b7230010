# Records a restore on the host, stops etcd, and makes the room. It removes the files of an
# earlier restore. It needs: newrecord.
putstate "$record" "$newrecord"
systemctl stop "$unit" 9>&-
clearroom
enterfolder "$parent"
name=$(od -An -v -N 16 -tx1 /dev/urandom | tr -d ' \n')
putstate "$place" "$name"
mkdir -m 0700 "./.holdfast-restore-$name"
