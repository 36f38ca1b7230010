# print_inhibitors prints the programs that block a shutdown, one a line. Most hosts have no inhibitors, or only those
# that delay a shutdown. It starts a process only if there are any. If logind runs and does not answer, or nobody knows whether it
# runs, a program may block the shutdown. systemd passes over the inhibitors if a unit orders the reboot, and before 257 also if root does.
print_inhibitors() {
	set -- /run/systemd/inhibit/*
	[ -e "$1" ] || return 0
	blocked=$(timeout 10 busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager BlockInhibited 2>/dev/null) || blocked=''
	case $blocked in '' | *shutdown*) ;; *) return 0 ;; esac
	if inhibitors=$(timeout 10 systemd-inhibit --list --no-pager --no-legend 2>/dev/null); then
		printf '%s\n' "$inhibitors" | grep -E "shutdown.* block *$" | head -c 2000
	elif [ -n "$blocked" ]; then
		echo 'one that systemd-inhibit does not list'
	else
		case $(timeout 10 systemctl show --property=ActiveState --value systemd-logind.service) in
		inactive | failed) ;; # nobody blocks a shutdown without logind
		*) echo 'perhaps: systemd-logind does not answer' ;;
		esac
	fi
}

# is_shutdown_blocked reports whether a program blocks a shutdown, and sets problem to the programs.
is_shutdown_blocked() {
	inhibitors=$(print_inhibitors)
	[ -n "$inhibitors" ] || return 1
	problem="a program blocks the shutdown ($(printf %s "$inhibitors" | tr -s ' \n' ' '))"
}
