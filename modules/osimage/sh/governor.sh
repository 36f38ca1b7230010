# Runs the staging in its own cgroup below the unit. The cgroup is frozen except for short slices.
# Before each slice, the data of the last slice are written to disk, so that etcd on the same disk
# never waits for the data of more than one slice. It needs: slice, pause (milliseconds) and rate
# (bytes per second, for iolimit.sh), until the bastion sends others; safeslice, safepause and
# saferate, which are in force while the bastion has sent no pace for silence (seconds).
#
# This loop is the main process of the unit. If it dies, systemd ends the unit and its frozen
# processes: signals end even frozen processes.
#
# Two other places limit a staging. iolimit.sh limits the bytes per second that it reads and writes,
# where it cannot be frozen. stage.sh gives its unit the lowest weights of processors and disks, and
# rpm-ostree.sh gives them to the daemon, which does the work there.
pacefile=$work/stage.pace
leverfile=$work/stage.levers
flushmark=$work/stage.flushed # has the time of the last flush

# note_lever reports whether a lever is in force. Arguments: freeze or io, yes or no, and the
# reason for no. The bastion sees the levers, and sends a pace, as soon as both are known.
freezelever='' iolever=''
note_lever() {
	case $1 in
	freeze) freezelever=$* ;;
	io) iolever=$* ;;
	esac
	[ -n "$iolever" ] || return 0
	printf '%s\n' "$freezelever" "$iolever" >"$leverfile.new"
	mv "$leverfile.new" "$leverfile"
}

# make_group makes the frozen cgroup of the staging, and sets group.
make_group() {
	rm -f "$pacefile" "$flushmark"
	path='' group=''
	while IFS= read -r line; do
		case $line in
		0::*/holdfast-stage.service) path=${line#0::} ;;
		esac
	done </proc/self/cgroup || :
	for top in /sys/fs/cgroup /sys/fs/cgroup/unified; do
		if [ -n "$path" ] && [ -e "$top$path/cgroup.freeze" ]; then group=$top$path/work; fi
	done
	if [ -z "$group" ]; then
		note_lever freeze no "the unit has no cgroup.freeze"
		return 1
	fi
	[ -d "$group" ] || mkdir "$group" 2>/dev/null || {
		note_lever freeze no "no cgroup can be made below the unit"
		return 1
	}
	say >"$leverfile.new"
	sync -d "$leverfile.new" 2>/dev/null || {
		note_lever freeze no "sync cannot flush single files"
		return 1
	}
	set_freezer 1 || {
		note_lever freeze no "cgroup.freeze cannot be written"
		return 1
	}
	note_lever freeze yes
	note_lever io no "not needed: the staging is frozen between slices"
}

set_freezer() { { printf '%s\n' "$1" >"$group/cgroup.freeze"; } 2>/dev/null; }

# read_group sets populated and frozen, as the kernel reports them.
read_group() {
	populated=0 frozen=1
	while read -r key value; do
		case $key in
		populated) populated=$value ;;
		frozen) frozen=$value ;;
		esac
	done <"$group/cgroup.events" || :
}

join_group() { { printf '0\n' >"$group/cgroup.procs"; } 2>/dev/null || :; }

# lower_priority gives this process, and all that it starts, the lowest priority. The loop keeps the
# normal one, because it must freeze the staging in time on a busy host, too.
lower_priority() { renice -n 19 -p "$(exec sh -c 'echo "$PPID"')" >/dev/null 2>&1 || :; }

# await_group waits until the staging has joined the group, for at most 5 s.
await_group() {
	tries=0
	read_group
	while [ "$populated" = 0 ] && [ "$tries" -lt 500 ] && [ ! -e "$work/stage.result" ]; do
		sleep 0.01
		tries=$((tries + 1))
		read_group
	done
}

# freeze_group freezes the group, and waits a moment for processes in the middle of a write.
freeze_group() {
	set_freezer 1 || :
	tries=0
	read_group
	while [ "$frozen" = 0 ] && [ "$tries" -lt 40 ]; do
		sleep 0.005
		tries=$((tries + 1))
		read_group
	done
}

# flush_files writes the files that the staging has open to disk. This includes files
# that have no name any more: the links in /proc lead to the open files themselves.
# Files that have not been written since the last flush are left out, because the disk
# would have to flush its cache for each.
flush_files() {
	set --
	while read -r pid; do
		for file in "/proc/$pid/fd"/*; do
			if [ -f "$file" ] && ! [ "$file" -ot "$flushmark" ]; then set -- "$@" "$file"; fi
		done
	done <"$group/cgroup.procs" || :
	printf '' >"$flushmark" || : # without a mark, all files are flushed
	[ $# -eq 0 ] || sync -d "$@" 2>/dev/null || :
}

print_seconds() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }

# set_pace sets the pace. Arguments: slice and pause in milliseconds. A slice of 0 means
# to stay frozen. A pause of 0 starts no program that sleeps, because slices are many then.
set_pace() {
	[ "$1 $2" != "$inforce" ] || return 0
	inforce="$1 $2"
	case $1 in
	0) slicetime='' ;;
	1) slicetime=0 ;; # the start of a program that sleeps takes about 1 ms
	*) slicetime=$(print_seconds "$1") ;;
	esac
	pausetime=''
	[ "$2" -eq 0 ] || pausetime=$(print_seconds "$2")
}

# read_pace reads the latest numbers from the bastion: a serial number, the pace, the safe pace, the
# rate and the safe rate. An older bastion sends no rates.
read_pace() {
	read -r now _ </proc/uptime
	now=${now%%.*}
	if [ -e "$pacefile" ] && read -r number a b c d e f <"$pacefile"; then
		case $number$a$b$c$d$e$f in
		*[!0-9]*) ;;
		*)
			if [ "$number" != "$serial" ] && [ -n "$d" ]; then
				serial=$number heard=$now slice=$a pause=$b safeslice=$c safepause=$d
				if [ -n "$f" ]; then rate=$e saferate=$f; fi
			fi
			;;
		esac
	fi
	if [ $((now - heard)) -ge "$silence" ]; then slice=$safeslice pause=$safepause rate=$saferate; fi
	set_pace "$slice" "$pause"
}

# govern_staging freezes and thaws the group until the staging has ended. It leaves the group
# thawed.
govern_staging() {
	serial='' inforce='' heard=''
	read -r heard _ </proc/uptime
	heard=${heard%%.*}
	trap 'set_freezer 0; exit 143' TERM
	while [ ! -e "$work/stage.result" ]; do
		freeze_group
		[ "$populated" = 1 ] || break
		flush_files
		read_pace
		[ -z "$pausetime" ] || sleep "$pausetime"
		while [ -z "$slicetime" ]; do
			read_pace
			sleep 0.2
		done
		set_freezer 0 || :
		sleep "$slicetime"
	done
	set_freezer 0 || :
}
