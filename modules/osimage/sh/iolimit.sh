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

# startlimits starts a process that limits the unit until stoplimits.
startlimits() {
	hasiocontroller || {
		notelever io no "the host has no io controller of cgroup v2"
		return 0
	}
	holdlimits &
	limiter=$!
}

# stoplimits waits until no more limit can be set. This takes a second at most.
stoplimits() {
	[ -n "$limiter" ] || return 0
	kill "$limiter" 2>/dev/null || :
	wait "$limiter" || :
}

hasiocontroller() {
	for top in /sys/fs/cgroup /sys/fs/cgroup/unified; do
		if [ -e "$top/cgroup.controllers" ] && read -r controllers <"$top/cgroup.controllers"; then
			case " $controllers " in
			*' io '*) return 0 ;;
			esac
		fi
	done
	return 1
}

# holdlimits keeps the limits at the rate of the bastion. It checks them each second, because the
# unit may start again.
holdlimits() {
	trap 'exit 0' TERM
	serial='' inforce='' heard='' setrate='' checks=0
	read -r heard _ </proc/uptime
	heard=${heard%%.*}
	while :; do
		readpace
		checklimits
		sleep 1
	done
}

# checklimits sets the limits if they are not in force, and reports whether they are. A unit that
# does not run needs no limit: it gets the latest one when it starts.
checklimits() {
	readlimits
	if [ "$limit" = no ] || [ "$rate" != "$setrate" ]; then
		if [ "$governed" = daemon ]; then : >"$limitmark"; fi
		refusal=$(systemctl set-property --runtime "$limited" "IOReadBandwidthMax=$sysroot $rate" "IOWriteBandwidthMax=$sysroot $rate" 2>&1) || {
			setrate=''
			reportlimits no "systemctl set-property fails: $(say "$refusal" | head -n 1)"
			return 0
		}
		setrate=$rate
		readlimits
	fi
	case $limit in
	yes) reportlimits yes ;;
	no) reportlimits no "io.max of $limited does not have the limit" ;;
	*)
		checks=$((checks + 1))
		if [ -z "$iolever" ] && [ "$checks" -ge 10 ]; then reportlimits no "$limited does not run"; fi
		;;
	esac
}

# readlimits sets limit: to yes if the kernel limits the unit to the rate on some disk, to no if
# not, and to nothing if the unit does not run.
readlimits() {
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

reportlimits() {
	[ "$iolever" = "io $*" ] || notelever io "$@"
}
