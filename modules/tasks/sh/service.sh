# Checks a unit before run_action restarts or reloads it for a playbook. It needs: verb and
# unit. Some functions that run_action calls do nothing here: no configuration waits for the
# unit, so no failure is recorded.
export LC_ALL=C
tx=''
say() { printf '%s\n' "$*" 2>/dev/null || :; }
complain() { printf '%s\n' "$*" >&2 || :; }
mark_point() { :; }
replace_record() { :; }
remove_write_files() { :; }

refuse_action() {
	complain "$*; nothing was done"
	exit 79
}
claim_host "$verb of $unit"
now=$(timeout -k 10 60 systemctl show --property=LoadState,ActiveState,NeedDaemonReload "$unit" 2>&1) || refuse_action "systemctl show $unit: $now"
case $now in
*LoadState=not-found*) refuse_action "$unit: the host has no such unit" ;;
*LoadState=masked*) refuse_action "$unit: the unit is masked" ;;
*ActiveState=inactive*)
	say "$unit is not running, so there is nothing to $verb"
	exit 0
	;;
esac
