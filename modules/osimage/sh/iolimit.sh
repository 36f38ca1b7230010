# Limits how many bytes per second a unit reads and writes, with the io controller of cgroup v2.
# It is used where the staging cannot be frozen. It needs: limited (the unit that does the work),
# sysroot (a path; systemd finds the disk below it), rate (bytes per second, until the bastion sends
# others), saferate and silence (as in governor.sh) and governed (daemon: the unit is not the staging
# unit).
#
# The command after of stage.sh removes the limits of a daemon, if the file limitmark is there. It
# runs even if the staging unit is killed. Limits of the staging unit end with it, because it is
# transient.
limitmark=$work/stage.iolimit
limiter=''

# start_limits starts a process that limits the unit until stop_limits.
start_limits() {
	has_io_controller || {
		note_lever io no "the host has no io controller of cgroup v2"
		return 0
	}
	keep_limits &
	limiter=$!
}

# stop_limits waits until no more limit can be set. This takes a second at most.
stop_limits() {
	[ -n "$limiter" ] || return 0
	kill "$limiter" 2>/dev/null || :
	wait "$limiter" || :
}

has_io_controller() {
	for top in /sys/fs/cgroup /sys/fs/cgroup/unified; do
		if [ -e "$top/cgroup.controllers" ] && read -r controllers <"$top/cgroup.controllers"; then
			case " $controllers " in
			*' io '*) return 0 ;;
			esac
		fi
	done
	return 1
}

# keep_limits keeps the limits at the rate of the bastion. It checks them each second, because the
# unit may start again.
keep_limits() {
	trap 'exit 0' TERM
	serial='' inforce='' heard='' setrate='' checks=0
	read -r heard _ </proc/uptime
	heard=${heard%%.*}
	while :; do
		read_pace
		check_limits
		sleep 1
	done
}

# check_limits sets the limits if they are not in force, and reports whether they are. A unit that
# does not run needs no limit: it gets the latest one when it starts.
check_limits() {
	read_limits
	if [ "$limit" = no ] || [ "$rate" != "$setrate" ]; then
		if [ "$governed" = daemon ]; then : >"$limitmark"; fi
		refusal=$(systemctl set-property --runtime "$limited" "IOReadBandwidthMax=$sysroot $rate" "IOWriteBandwidthMax=$sysroot $rate" 2>&1) || {
			setrate=''
			report_limits no "systemctl set-property fails: $(say "$refusal" | head -n 1)"
			return 0
		}
		setrate=$rate
		read_limits
	fi
	case $limit in
	yes) report_limits yes ;;
	no) report_limits no "io.max of $limited does not have the limit" ;;
	*)
		checks=$((checks + 1))
		if [ -z "$iolever" ] && [ "$checks" -ge 10 ]; then report_limits no "$limited does not run"; fi
		;;
	esac
}

# read_limits sets limit: to yes if the kernel limits the unit to the rate on some disk, to no if
# not, and to nothing if the unit does not run.
read_limits() {
	limit=''
	unitgroup=$(systemctl show --property=ControlGroup --value "$limited" 2>/dev/null) || unitgroup=''
	[ -n "$unitgroup" ] || return 0
	for top in /sys/fs/cgroup /sys/fs/cgroup/unified; do
		if [ -d "$top$unitgroup" ]; then limit=${limit:-no}; fi
		[ -e "$top$unitgroup/io.max" ] || continue
		while read -r _ limits; do
			case " $limits " in
			*" rbps=$rate wbps=$rate "*) limit=yes ;;
			esac
		done <"$top$unitgroup/io.max" || :
	done
}

report_limits() {
	[ "$iolever" = "io $*" ] || note_lever io "$@"
}
