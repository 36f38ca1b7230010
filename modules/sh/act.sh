# act carries out an action: N, type, unit, seconds, and these for people. Its
# failure is recorded, so that the next plan reboots the host.
act() {
	point "act $1"
	what=$2${3:+ $3} done=0 now=''
	if [ "$2" != daemon-reload ]; then
		now=$(timeout -k 10 60 systemctl show --property=LoadState,ActiveState,NeedDaemonReload "$3" 2>&1 8>&-) || :
		case $now in
		*NeedDaemonReload=yes*) bounded "$4" systemctl daemon-reload ;;
		esac
	fi
	# What does not run reads its configuration when it starts.
	case $2:$done:$now in
	reload:0:*LoadState=not-found*) ;;
	reload:0:*ActiveState=inactive*)
		say "$3 is not running, so there is nothing to reload"
		return
		;;
	esac
	if [ "$done" = 0 ]; then
		case $2 in
		daemon-reload) bounded "$4" systemctl daemon-reload ;;
		*) bounded "$4" systemctl "$2" "$3" ;;
		esac
	fi
	if [ "$done" = 0 ] && [ "$2" != daemon-reload ] && systemctl is-failed --quiet "$3" 8>&-; then
		done=failed
	fi
	case $done in
	0) return ;;
	124 | 137) reason="not done within $5" ;;
	failed) reason='the unit has failed' ;;
	*) reason="exit status $done" ;;
	esac
	record "$tx/new/failed-$1" || complain "$what: its failure cannot be recorded"
	complain "$what: $reason${said:+: $said}"
	if [ -n "$3" ]; then
		timeout 10 journalctl --quiet --no-pager --lines=5 --output=cat --unit="$3" >&2 2>/dev/null 8>&- || :
	fi
	trim
	exit 78
}

# bounded runs a command no longer than that many seconds.
bounded() {
	limit=$1
	shift
	said=$(timeout -k 10 "$limit" "$@" 2>&1 8>&-) || done=$?
}
