# Functions of all scripts of this package. They need the variables that scriptHead
# sets, and ground.sh.

# enterfolder enters a folder or ends the script. An account may own the folder or one
# above it, and swap it at any moment. After enterfolder, nobody can lead the script to
# another folder. A second argument is the message if there is no folder.
enterfolder() {
	code=0
	enter "$1" || code=$?
	case $code in
	0) ;;
	2)
		echo "the path $1 is a link" >&2
		exit 1
		;;
	*)
		echo "${2-$1 is not a folder that can be entered}" >&2
		exit 1
		;;
	esac
}

# enterroom enters the folder of a restore, its room. The room is beside the data
# directory, and only root may enter it: an account may own the folder above, and the new
# data must be on the same file system. The room has the uploaded snapshot, the new data
# (restored.part until they are checked), and then the identity of their source. Nobody
# else can change anything in it. So a script that has entered it may use paths below it,
# and .. for the folder above, also when somebody has swapped a folder of its path since.
enterroom() {
	name=
	[ ! -e "$place" ] || name=$(head -c 32 "$place" | tr -cd 0-9a-f)
	[ -n "$name" ] || return 1
	name=.holdfast-restore-$name
	enter "$parent/$name" && [ "$(stat -c '%u %a' .)" = "$(id -u) 700" ]
}

# needroom enters the room or ends the script.
needroom() {
	enterroom || {
		echo "the folder of the restore in $parent is gone; begin again" >&2
		exit 1
	}
}

# clearroom removes the room. The old data of etcd are never in it.
clearroom() {
	if enterroom; then
		rm -rf ./restored ./restored.part ./snapshot.db ./source ./source.new ./log
		rmdir "../$name" || :
		cd /
		spot=
	fi
	rm -f "$place"
}

# putstate FILE LINES writes a file of $state.
putstate() {
	printf '%s\n' "$2" >"$1.new"
	sync "$1.new"
	mv -fT "$1.new" "$1"
	sync "$state"
}

# enterdatabase enters the folder of the database of the data directory.
enterdatabase() {
	enterfolder "$parent/$base/member/snap" "there is no database of etcd"
}

# needdatabase FILE ends the script if there is no database.
needdatabase() {
	[ -f "$1" ] && [ ! -L "$1" ] || {
		echo "there is no database of etcd" >&2
		exit 1
	}
}

# renameaside enters $parent, and renames $base there.
renameaside() {
	enterfolder "$parent"
	[ -e "./$base" ] || [ -L "./$base" ] || return 0
	aside=$base.removed-$(date -u +%Y%m%dT%H%M%SZ)-$$
	mv -nT "./$base" "./$aside" # some versions report no error if the new name exists
	if [ -e "./$base" ] || [ -L "./$base" ]; then
		echo "$parent/$base cannot be renamed to $aside" >&2
		exit 1
	fi
	sync .
	echo "$parent/$aside"
}

# findlog sets wal to the folder of the write-ahead log that the etcd of the host uses, if
# holdfast has set it up. The file of settings decides, because a member keeps its folder.
findlog() {
	if [ -e "$tuning" ]; then wal=$(sed -n 's/^ETCD_WAL_DIR=//p' "$tuned" 2>/dev/null) || wal=; fi
}

# setlogaside renames a folder of the log outside of the data directory.
setlogaside() {
	findlog
	[ -n "$wal" ] && [ -d "${wal%/*}" ] || return 0
	(
		parent=${wal%/*}
		base=${wal##*/}
		renameaside
	)
}

