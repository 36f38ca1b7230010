package change

import (
	"fmt"
	"strconv"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/hostscript"
)

// A restore works in a folder beside the data directory, which only root may enter: an account may own the folder above,
// and the new data must be on the same file system. The folder has the uploaded snapshot, the new data (restored.part until
// they are checked), and then the identity of their source. Nobody else can change anything in it. So a script that has entered
// it may use paths below it, and .. for the folder above, also when an account has swapped one of the folders above by then.
const roomLibrary = `enterroom() {
	name=
	[ ! -e "$place" ] || name=$(head -c 32 "$place" | tr -cd 0-9a-f)
	[ -n "$name" ] || return 1
	name=.holdfast-restore-$name
	enter "$parent/$name" && [ "$(stat -c '%u %a' .)" = "$(id -u) 700" ]
}
`

const enterRoom = `enterroom || { echo "the folder of the restore in $parent is gone; begin again" >&2; exit 1; }
`

// clearRoom removes the folder of a restore. The old data of etcd are never in this folder.
const clearRoom = `if enterroom; then
	rm -rf ./restored ./restored.part ./snapshot.db ./source ./source.new ./log
	rmdir "../$name" || :
	cd /
	spot=
fi
rm -f "$place"
`

// revisionBump is added to the revision. No cluster has so many writes between a snapshot and its loss. So clients that watch
// notice that their revisions are gone, and read everything again.
const revisionBump = 1_000_000_000

// toolsScript checks that the host can restore a database of that size.
func toolsScript(m engine.ManagedMembers, size int64) string {
	needed := 2*size>>10 + 1<<20
	return scriptHead(m) + `command -v etcdutl >/dev/null || { echo "there is no etcdutl; install it, of the same version as etcd" >&2; exit 1; }
help=$(etcdutl snapshot restore --help 2>&1) || :
for flag in --bump-revision --mark-compacted; do
	case $help in *"$flag"*) ;; *)
		echo "its etcdutl ($(etcdutl version 2>&1 | head -n 1)) has no $flag, without which clients do not notice a restore; install a newer one" >&2
		exit 1
		;;
	esac
done
` + enterParent + `free=$(df -Pk . | awk 'NR == 2 { print $4 }')
needed=` + strconv.FormatInt(needed, 10) + `
[ "$free" -ge "$needed" ] || { echo "$parent has only $free KiB free, and the restore needs $needed" >&2; exit 1; }
`
}

// openRoomScript records the restore on the host, stops etcd, and makes the folder. It removes the files of an earlier restore.
func openRoomScript(owner engine.HoldOwner, m engine.ManagedMembers) string {
	return underHold(owner, m, "prepare a restore of etcd", `printf '%s\n' `+hostscript.Quote(string(membership.Restoring))+` >"$record.new"
sync "$record.new"
mv -fT "$record.new" "$record"
sync "$state"
systemctl stop "$unit" 9>&-
`+roomLibrary+clearRoom+enterParent+`name=$(od -An -v -N 16 -tx1 /dev/urandom | tr -d ' \n')
printf '%s\n' "$name" >"$place.new"
sync "$place.new"
mv -fT "$place.new" "$place"
sync "$state"
mkdir -m 0700 "./.holdfast-restore-$name"
`)
}

// receiveScript takes a snapshot from standard input.
func receiveScript(owner engine.HoldOwner, m engine.ManagedMembers, size int64, sum string) string {
	return underHold(owner, m, "receive a snapshot of etcd", roomLibrary+enterRoom+`rm -f ./snapshot.db
set -C
head -c `+strconv.FormatInt(size, 10)+` >./snapshot.db
set +C
[ "$(stat -c %s ./snapshot.db)" = `+strconv.FormatInt(size, 10)+` ] || { echo "the upload was cut off; run etcd restore again, it begins anew" >&2; exit 1; }
sum=$(sha256sum <./snapshot.db)
[ "${sum%% *}" = `+hostscript.Quote(sum)+` ] || { echo "the uploaded snapshot has another SHA-256 than the file on the bastion; run etcd restore again, it begins anew" >&2; exit 1; }
sync ./snapshot.db
`)
}

// copyScript copies the database of the stopped etcd. An account may own its folder.
func copyScript(owner engine.HoldOwner, m engine.ManagedMembers) string {
	return underHold(owner, m, "copy the database of etcd", roomLibrary+`case $(systemctl is-active "$unit" || :) in
active | activating | reloading | deactivating) echo "$unit still runs" >&2; exit 1 ;;
esac
`+enterRoom+`rm -f ./snapshot.db
set -C
exec 8>./snapshot.db
set +C
`+enterDatabase+hasDatabase("./db")+`size=$(stat -c %s ./db)
dd if=./db bs=1M iflag=nofollow,nonblock,count_bytes count="$size" 2>/dev/null >&8
exec 8>&-
`+enterRoom+`[ "$(stat -c %s ./snapshot.db)" = "$size" ] || { echo "the database cannot be copied" >&2; exit 1; }
sync ./snapshot.db
`)
}

// enterDatabase enters the folder of the database of the data directory.
const enterDatabase = `enterfolder "$parent/$base/member/snap" "there is no database of etcd"
`

// hasDatabase ends a script if there is no database.
func hasDatabase(file string) string {
	return `[ -f ` + file + ` ] && [ ! -L ` + file + ` ] || { echo "there is no database of etcd" >&2; exit 1; }
`
}

// newData describes the data directory of a new cluster of one voter.
type newData struct {
	settings settingsText
	copied   bool  // from a data directory: the database has no hash
	bump     int64 // is added to the revision
}

// buildScript makes the new data.
func buildScript(owner engine.HoldOwner, m engine.ManagedMembers, d newData) string {
	s, skip := d.settings, ""
	if d.copied {
		skip = " --skip-hash-check"
	}
	q := hostscript.Quote
	return underHold(owner, m, "restore etcd", roomLibrary+enterRoom+`rm -rf ./restored.part
etcdutl snapshot restore ./snapshot.db --data-dir ./restored.part --name `+q(s.name)+` --initial-cluster `+q(s.cluster)+` \
	--initial-cluster-token `+q(s.token)+` --initial-advertise-peer-urls `+q(s.peerURL)+` \
	--bump-revision `+strconv.FormatInt(d.bump, 10)+` --mark-compacted`+skip+` >./log 2>&1 9>&- || { tail -c 500 ./log >&2; exit 1; }
[ -n "$user" ] || user=$(systemctl show -p User --value "$unit")
group=$(systemctl show -p Group --value "$unit")
[ -n "$user" ] || user=root
[ -n "$group" ] || group=$(id -gn "$user")
chown -RhP "$user:$group" ./restored.part
sync -f ./restored.part/member/snap/db
`)
}

// completeScript records that the new data are complete and checked.
func completeScript(owner engine.HoldOwner, m engine.ManagedMembers, identity string) string {
	return underHold(owner, m, "restore etcd", roomLibrary+enterRoom+`mv -nT ./restored.part ./restored
[ ! -e ./restored.part ]
printf '%s\n' `+hostscript.Quote(identity)+` >./source.new
sync ./source.new
mv -fT ./source.new ./source
sync .
`)
}

// noteReplaced records the replaced clusters on the host.
func noteReplaced(r replacedClusters) string {
	return `printf '%s' ` + hostscript.Quote(r.String()) + ` >"$replaced.new"
sync "$replaced.new"
mv -fT "$replaced.new" "$replaced"
sync "$state"
`
}

func noteScript(owner engine.HoldOwner, m engine.ManagedMembers, r replacedClusters) string {
	return underHold(owner, m, "note a restore of etcd", noteReplaced(r))
}

// replaceScript puts the new data in the place of the old ones. It can be repeated at any point.
func replaceScript(owner engine.HoldOwner, m engine.ManagedMembers, r replacedClusters) string {
	return underHold(owner, m, "replace the data of etcd", roomLibrary+enterRoom+`[ -d ./restored ] || { echo "there are no new data" >&2; exit 1; }
node=$(stat -c %d:%i ./restored)
systemctl disable "$unit" 9>&- || : # a boot before the next step would start it without its log
systemctl stop "$unit" 9>&-
`+setWALAside+enterParent+renameAside+enterRoom+`mv -nT ./restored "../$base"
[ "$(stat -c %d:%i "../$base" 2>/dev/null)" = "$node" ] || { echo "somebody else changes $parent: the new data are not in $base" >&2; exit 1; }
sync ..
sync .
`+noteReplaced(r))
}

// readScript prints the size and the time of a database, and then a part of it, in base64. It reads the database of the
// data directory, or the one that a restore has built.
func readScript(m engine.ManagedMembers, built bool, offset, length int64) string {
	enter, db := enterDatabase, "./db"
	if built {
		enter, db = roomLibrary+enterRoom, "./restored.part/member/snap/db"
	}
	return scriptHead(m) + enter + hasDatabase(db) + fmt.Sprintf(`stat -c '%%s %%Y' %s
dd if=%s bs=64K iflag=nofollow,nonblock,skip_bytes,count_bytes skip=%d count=%d 2>/dev/null | base64 -w 0
`, db, db, offset, length)
}
