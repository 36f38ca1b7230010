# These functions enable, disable and preset units for a write, and undo that. The functions
# change_units and restore_units, which are generated for each write, call them.

# run_systemctl runs systemctl, notes in unitsdone that it has begun, and refuses the write if
# it fails. Arguments: early or late, verb, --, units.
run_systemctl() {
	unitsdone="$unitsdone $1 $2 "
	when=$1
	shift
	attempt timeout -k 10 300 systemctl "$@" 8>&- 9>&- || refuse "$output"
	verb=$1
	shift 2
	case $when:$verb in
	late:enable | late:disable) for unit; do check_unit "$verb" "$unit"; done ;;
	esac
}

# call_for_present calls run_systemctl or undo_systemctl for those units that the host has
# by now, and that systemctl can change. Arguments: function, its first three arguments,
# units.
call_for_present() {
	change=$1 when=$2 verb=$3 how=$4
	shift 4
	for unit; do
		shift
		! can_change_unit "$unit" || set -- "$@" "$unit"
	done
	[ $# = 0 ] || "$change" "$when" "$verb" "$how" "$@"
}

# can_change_unit also succeeds if there is no answer in time: then the change fails.
can_change_unit() {
	word=$(timeout -k 10 60 systemctl is-enabled -- "$1" 2>/dev/null 8>&- 9>&-) || [ "$?" -lt 124 ] || return 0
	case $word in
	'' | not-found | masked* | alias | bad | generated | transient) return 1 ;;
	esac
}

# check_unit checks the effect of systemctl enable or disable, which end with 0 also if
# they do nothing. Otherwise, each apply would repeat the change. Arguments: verb, unit.
check_unit() {
	word=$(timeout -k 10 60 systemctl is-enabled -- "$2" 2>/dev/null 8>&- 9>&-) || :
	about="unit $2"
	case $1:$word in
	enable:disabled) refuse "systemctl enable ended with 0, and the unit is still disabled: its [Install] section names nothing that starts it; correct the section" ;;
	disable:enabled) refuse "systemctl disable ended with 0, and the unit is still enabled: the OS enables it in /usr; mask it instead" ;;
	esac
	about=units
}

# undo_systemctl undoes a change by systemctl, even if the change may not have happened.
# Arguments: early or late, verb, inverse verb, units.
undo_systemctl() {
	case $unitsdone in
	*" $1 $2 "*) ;;
	*) return 0 ;;
	esac
	verb=$3
	shift 3
	timeout -k 10 300 systemctl "$verb" -- "$@" >/dev/null 2>&1 8>&- 9>&- || kept="$kept, whether these are enabled: $*"
}
