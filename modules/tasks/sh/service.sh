# Checks a unit before act restarts or reloads it for a playbook. It needs: verb and
# unit. Some functions that act calls do nothing here: no configuration waits for the
# unit, so no failure is recorded.
export LC_ALL=C
tx=''
say() { printf '%s\n' "$*" 2>/dev/null || :; }
complain() { printf '%s\n' "$*" >&2 || :; }
point() { :; }
record() { :; }
trim() { :; }

cannot() {
	complain "$*; nothing was done"
	exit 79
}
claim "$verb of $unit"
now=$(timeout -k 10 60 systemctl show --property=LoadState,ActiveState,NeedDaemonReload "$unit" 2>&1) || cannot "systemctl show $unit: $now"
case $now in
*LoadState=not-found*) cannot "$unit: the host has no such unit" ;;
*LoadState=masked*) cannot "$unit: the unit is masked" ;;
*ActiveState=inactive*)
	say "$unit is not running, so there is nothing to $verb"
	exit 0
	;;
esac
