# Takes a snapshot from standard input. It needs: wantsize (bytes) and wantsum (SHA-256).
need_room
rm -f ./snapshot.db
set -C
head -c "$wantsize" >./snapshot.db
set +C
[ "$(stat -c %s ./snapshot.db)" = "$wantsize" ] || {
	echo "the upload was cut off; run etcd restore again, it begins anew" >&2
	exit 1
}
sum=$(sha256sum <./snapshot.db)
[ "${sum%% *}" = "$wantsum" ] || {
	echo "the uploaded snapshot has another SHA-256 than the file on the bastion; run etcd restore again, it begins anew" >&2
	exit 1
}
sync ./snapshot.db
