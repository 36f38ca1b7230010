package change

import (
	"holdfast/engine"
	"holdfast/engine/etcd/setting"
	"holdfast/engine/hostscript"
)

// walVariables sets the folder of the write-ahead log that the inventory wants ("": it is in the data directory), and whether it
// must be on a disk of its own.
func walVariables(m engine.ManagedMembers) string {
	if m.Settings == nil {
		return "wal=\nown=\n"
	}
	text := "wal=" + hostscript.Quote(m.Settings.WALDir) + "\nown="
	if m.Settings.WALOnOwnDisk {
		text += "yes"
	}
	return text + "\n"
}

// findWAL sets wal to the folder that the etcd of the host uses, if holdfast has set it up. The file of settings decides, because
// a member keeps its folder.
const findWAL = `if [ -e "$tuning" ]; then wal=$(sed -n 's/^ETCD_WAL_DIR=//p' "$tuned" 2>/dev/null) || wal=; fi
`

// probeWAL prints "data" and "wal HEX" for a folder outside of the data directory, in which firstwal looks.
const probeWAL = findWAL + `if [ -n "$wal" ] && { [ -e "$wal" ] || [ -L "$wal" ]; }; then
	(
		enterfolder "$wal"
		if [ -n "$(ls -A)" ]; then echo data; fi
		firstwal wal .
	)
fi
`

// setWALAside renames a folder outside of the data directory.
const setWALAside = findWAL + `if [ -n "$wal" ] && [ -d "${wal%/*}" ]; then
	(
		parent=${wal%/*}
		base=${wal##*/}
		` + enterParent + renameAside + `	)
fi
`

// checkLog ends a script if etcd would begin an empty log after a restart: a voter that has lost its log forgets its votes.
func checkLog(w setting.Wanted) string {
	text := `if [ -e "$tuning" ] && [ ! -e "$tuned" ]; then
	echo "the file $tuned is gone; write it again, with the variables that etcd runs with (/proc/PID/environ)" >&2
	exit 1
fi
`
	if folder := w.WAL(); folder != "" {
		text += "set -- " + hostscript.Quote(folder) + `/*.wal
[ -e "$1" ] || { echo "${1%/*} has no log of etcd; is its disk mounted?" >&2; exit 1; }
`
	}
	return text
}

// checkFolders checks the folders of the data directory and of the log, and leaves the script in the folder whose disk has the log.
const checkFolders = `checkfolder() {
	[ -d "$parent" ] || { echo "there is no folder $parent; make it, writable for etcd" >&2; exit 1; }
` + enterParent + `	! mountpoint -q "./$base" || { echo "$parent/$base is a mount point, and cannot be renamed; use a folder in it as $1" >&2; exit 1; }
	free=$(df -Pk . | awk 'NR == 2 { print $4 }')
	[ "$free" -ge 1048576 ] || { echo "$parent has only $free KiB free, and etcd needs at least 1 GiB" >&2; exit 1; }
}
checkfolder data_dir
if [ -n "$wal" ]; then
	others=$(stat -c %d . / /var /sysroot 2>/dev/null) || :
	parent=${wal%/*}
	base=${wal##*/}
	checkfolder wal_dir
	if [ -n "$own" ] && printf '%s\n' "$others" | grep -qx "$(stat -c %d .)"; then
		echo "$parent is on the disk of data_dir or of the system, and wal_on_own_disk is set; mount another disk there" >&2
		exit 1
	fi
fi
`
