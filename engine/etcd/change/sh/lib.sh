# Functions of all scripts of this package. They need the variables that scriptHead
# sets, and ground.sh.

# enter_folder enters a folder or ends the script. An account may own the folder or one
# above it, and swap it at any moment. After enter_folder, nobody can lead the script to
# another folder. A second argument is the message if there is no folder.
enter_folder() {
	code=0
	enter_dir "$1" || code=$?
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

# enter_room enters the folder of a restore, its room. The room is beside the data
# directory, and only root may enter it: an account may own the folder above, and the new
# data must be on the same file system. The room has the uploaded snapshot, the new data
# (restored.part until they are checked), and then the identity of their source. Nobody
# else can change anything in it. So a script that has entered it may use paths below it,
# and .. for the folder above, also when somebody has swapped a folder of its path since.
enter_room() {
	name=
	[ ! -e "$place" ] || name=$(head -c 32 "$place" | tr -cd 0-9a-f)
	[ -n "$name" ] || return 1
	name=.holdfast-restore-$name
	enter_dir "$parent/$name" && [ "$(stat -c '%u %a' .)" = "$(id -u) 700" ]
}

# need_room enters the room or ends the script.
need_room() {
	enter_room || {
		echo "the folder of the restore in $parent is gone; begin again" >&2
		exit 1
	}
}

# remove_room removes the room. The old data of etcd are never in it.
remove_room() {
	if enter_room; then
		rm -rf ./restored ./restored.part ./snapshot.db ./source ./source.new ./log
		rmdir "../$name" || :
		cd /
		entered=
	fi
	rm -f "$place"
}

# write_state FILE LINES writes a file of $state.
write_state() {
	printf '%s\n' "$2" >"$1.new"
	sync "$1.new"
	mv -fT "$1.new" "$1"
	sync "$state"
}

# enter_database enters the folder of the database of the data directory.
enter_database() {
	enter_folder "$parent/$base/member/snap" "there is no database of etcd"
}

# need_database FILE ends the script if there is no database.
need_database() {
	[ -f "$1" ] && [ ! -L "$1" ] || {
		echo "there is no database of etcd" >&2
		exit 1
	}
}

# rename_aside enters $parent, and renames $base there.
rename_aside() {
	enter_folder "$parent"
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

# find_log sets wal to the folder of the write-ahead log that the etcd of the host uses, if
# holdfast has set it up. The file of settings decides, because a member keeps its folder.
find_log() {
	if [ -e "$tuning" ]; then wal=$(sed -n 's/^ETCD_WAL_DIR=//p' "$tuned" 2>/dev/null) || wal=; fi
}

# set_log_aside renames a folder of the log outside of the data directory.
set_log_aside() {
	find_log
	[ -n "$wal" ] && [ -d "${wal%/*}" ] || return 0
	(
		parent=${wal%/*}
		base=${wal##*/}
		rename_aside
	)
}

# find_unmounted PATH prints the mount points at PATH or above it that systemd knows from
# fstab or from a unit, and that are not mounted. A disk that is not mounted looks like a
# host without data.
find_unmounted() {
	[ -e "$1/." ] || : # an automount mounts it now
	command -v systemd-escape >/dev/null || return 0
	point=$1
	set --
	while [ -n "$point" ]; do
		set -- "$@" "$(systemd-escape -p --suffix=mount "$point")" || return 0
		point=${point%/*}
	done
	where='' loaded='' active=''
	{
		systemctl show -p Where -p LoadState -p ActiveState "$@" 2>/dev/null || :
		echo
	} | while IFS= read -r line; do
		case $line in
		Where=*) where=${line#*=} ;;
		LoadState=*) loaded=${line#*=} ;;
		ActiveState=*) active=${line#*=} ;;
		'')
			[ "$loaded" != loaded ] || [ "$active" = active ] || printf 'unmounted %s\n' "$where"
			where='' loaded='' active=''
			;;
		esac
	done
}
