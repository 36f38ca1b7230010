# Checks a host that should get a member, and prints the p99 of synced writes to the disk
# of the write-ahead log, in seconds, and their number.

# time_syncs writes and syncs 200 times, or for 10 s, as etcd does with its log, and prints
# the seconds that each took, which dd tells.
time_syncs() {
	LC_ALL=C
	export LC_ALL
	until=$(($(date +%s) + 10)) n=0
	while [ "$n" -lt 200 ] && [ "$(date +%s)" -lt "$until" ]; do
		out=$(dd if=/dev/zero bs=2048 count=1 conv=fdatasync,notrunc 2>&1 >&3) || return 1
		out=${out##*copied, }
		echo "${out%% *}"
		n=$((n + 1))
	done
}

# check_folder SETTING checks and enters $parent, for a setting of the inventory.
check_folder() {
	[ -d "$parent" ] || {
		echo "there is no folder $parent; make it, writable for etcd" >&2
		exit 1
	}
	enter_folder "$parent"
	! mountpoint -q "./$base" || {
		echo "$parent/$base is a mount point, and cannot be renamed; use a folder in it as $1" >&2
		exit 1
	}
	free=$(df -Pk . | awk 'NR == 2 { print $4 }')
	[ "$free" -ge 1048576 ] || {
		echo "$parent has only $free KiB free, and etcd needs at least 1 GiB" >&2
		exit 1
	}
}

# is_on_disk DISKS reports whether the folder that was entered is on one of the disks.
is_on_disk() {
	printf '%s\n' "$1" | grep -qx "$(stat -c %d .)"
}

systemctl cat "$unit" >/dev/null 2>&1 || {
	echo "there is no unit $unit; install etcd" >&2
	exit 1
}
[ -z "$user" ] || id "$user" >/dev/null 2>&1 || {
	echo "there is no account $user; make it, or set another user in the block settings" >&2
	exit 1
}
# The last folder that is entered is the one whose disk has the log.
check_folder data_dir
if [ -n "$owndata" ] && is_on_disk "$(stat -c %d / /sysroot 2>/dev/null)"; then
	echo "$parent is on the disk of the system, and data_on_own_disk is set; mount another disk there" >&2
	exit 1
fi
if [ -n "$wal" ]; then
	others=$(stat -c %d . / /var /sysroot 2>/dev/null) || :
	parent=${wal%/*}
	base=${wal##*/}
	check_folder wal_dir
	if [ -n "$own" ] && is_on_disk "$others"; then
		echo "$parent is on the disk of data_dir or of the system, and wal_on_own_disk is set; mount another disk there" >&2
		exit 1
	fi
fi
test=.holdfast-disk-test-$(od -An -v -N 16 -tx1 /dev/urandom | tr -d ' \n')
trap 'rm -f "./$test"' EXIT
trap 'exit 1' HUP INT TERM
set -C # the file is new, and nobody's link
times=$(time_syncs 3>"./$test") || {
	echo "$parent cannot be written to" >&2
	exit 1
}
printf '%s\n' "$times" | sort -g | awk '{ took[NR] = $1 } END { n = int((NR * 99 + 99) / 100); print "sync", took[n], NR }'
