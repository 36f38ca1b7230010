# run_action carries out an action. Arguments: N, type, unit, seconds, and the seconds
# as text. If the action fails, run_action records the failure, so that the next plan
# reboots the host.
run_action() {
	mark_point "act $1"
	what=$2${3:+ $3} done=0 now='' reason=''
	if [ "$2" != daemon-reload ]; then
		now=$(timeout -k 10 60 systemctl show --property=LoadState,ActiveState,NeedDaemonReload "$3" 2>&1 8>&- 9>&-) || :
		case $now in
		*NeedDaemonReload=yes*) run_bounded "$4" systemctl daemon-reload ;;
		esac
	fi
	# A reload of a stopped unit does nothing: the unit reads its configuration when it
	# starts.
	case $2:$done:$now in
	reload:0:*LoadState=not-found*) ;;
	reload:0:*ActiveState=inactive*)
		say "$3 is not running, so there is nothing to reload"
		return
		;;
	esac
	if [ "$done" = 0 ]; then
		case $2 in
		daemon-reload) run_bounded "$4" systemctl daemon-reload ;;
		*) run_bounded "$4" systemctl "$2" "$3" ;;
		esac
	fi
	case $done in
	0)
		[ "$2" = daemon-reload ] || watch_unit "$2" "$3" "$4" "$now"
		[ -n "$reason" ] || return 0
		;;
	124 | 137) reason="not done within $5" ;;
	*) reason="exit status $done" ;;
	esac
	replace_record "$tx/new/failed-$1" || complain "$what: its failure cannot be recorded"
	complain "$what: $reason${output:+: $output}"
	if [ -n "$3" ]; then
		timeout 10 journalctl --quiet --no-pager --lines=5 --output=cat --unit="$3" >&2 2>/dev/null 8>&- 9>&- || :
	fi
	remove_write_files
	exit 78
}

# watch_unit checks a unit after an action. Arguments: verb, unit, seconds, state before.
# It sets reason if the unit has failed, does not start, or stops. A daemon that cannot
# use its configuration may exit a moment after its start.
watch_unit() {
	good=0 looks=0 first='' need=5
	[ "$1" = restart ] || need=2
	while [ "$good" -lt "$need" ]; do
		unit=$(timeout -k 10 20 systemctl show --property=Type,NRestarts,Result,ActiveState,SubState "$2" 2>/dev/null 8>&- 9>&-) || return 0
		again=$(print_property NRestarts)
		first=${first:-${again:-0}} again=$((${again:-0} - ${first:-${again:-0}}))
		good=$((good + 1)) looks=$((looks + 1))
		case $unit in
		*ActiveState=failed*) reason="the unit has failed ($(print_property Result))" ;;
		*Type=oneshot*) return 0 ;;
		*ActiveState=inactive*)
			case $4 in
			*ActiveState=active*) reason='the unit ran before, and has ended' ;;
			*) return 0 ;;
			esac
			;;
		*ActiveState=active*) case $unit in *Type=*) ;; *) return 0 ;; esac ;;
		*) good=0 ;;
		esac
		if [ "$again" -ge 2 ]; then
			reason="the unit has ended and was started again by systemd, $again times by now"
		elif [ "$good" = 0 ] && { [ "$looks" -ge "$3" ] || [ "$looks" -ge 30 ]; }; then
			reason="the unit is $(print_property ActiveState) ($(print_property SubState)) after ${looks}s"
		fi
		[ -z "$reason" ] || return 0
		sleep 1
	done
}
print_property() { printf '%s\n' "$unit" | sed -n "s/^$1=//p"; }

# run_bounded runs a command with a timeout in seconds.
run_bounded() {
	limit=$1
	shift
	output=$(timeout -k 10 "$limit" "$@" 2>&1 8>&- 9>&-) || done=$?
}
