# Functions for the services that holdfast lets survive soft reboots. They need: unitdir, and survivordropins (the names
# of their drop-ins, with spaces between them). Nearly all hosts have none, and then no function starts a process.

# list_survivors sets survivors to the names of these services.
list_survivors() {
	survivors=''
	for dropin in $survivordropins; do
		for file in "$unitdir"/*.service.d/"$dropin"; do
			[ -e "$file" ] && grep -qx SurviveFinalKillSignal=yes "$file" || continue
			service=${file%.d/*}
			service=${service##*/}
			case $service in
			*[!A-Za-z0-9:_.@-]*) ;;
			*) survivors="$survivors $service" ;;
			esac
		done
	done
}

print_root() { stat -Lc %d:%i "/proc/$1/root/" 2>/dev/null; } # of a process

# print_deployment prints NAME=ROOT for the mounts / and /etc of a process: their roots in their file systems, which
# have the ID of its deployment.
print_deployment() { # PID NAME
	while read -r _ _ _ root point _; do
		case $point in / | /etc) printf '%s=%s\n' "$2" "$root" ;; esac
	done 2>/dev/null <"/proc/$1/mountinfo"
}

# is_outdated reports whether such a service runs from another deployment than the host, or whether that is not known.
# It sets pid, and problem to the reason. Argument: the service.
is_outdated() {
	pid=$(timeout 10 systemctl show --property=MainPID --value -- "$1") || pid=''
	problem="it is not known from which deployment $1 runs"
	case $pid in
	0) return 1 ;;
	'' | *[!0-9]*) return 0 ;;
	esac
	root=$(print_root "$pid") || root=''
	[ -z "$root" ] || [ "$root" != "$(print_root 1)" ] || return 1
	problem="$1 (process $pid) runs from another deployment than the host"
	[ -e "/proc/$pid/stat" ] # a process that has ended starts again from the deployment of the host
}

# refuse_outdated ends the script with 81. Arguments: the operation, a service.
refuse_outdated() {
	printf '%s\n' "$1: $problem, which may go now; nothing was done; restart $2, or run holdfast apply, which restarts it first" >&2
	exit 81
}

# check_survivors ends the script with 81 if such a service runs from another deployment than the host, or if that is
# not known: the operation would remove that deployment. Argument: the operation.
check_survivors() {
	list_survivors
	for service in $survivors; do
		if is_outdated "$service"; then refuse_outdated "$1" "$service"; fi
	done
}

# check_listed is check_survivors for an operation that keeps all deployments that ostree lists. Argument: the operation.
check_listed() {
	list_survivors
	for service in $survivors; do
		is_outdated "$service" || continue
		listed=''
		for id in $(ostree admin status | sed -nE 's/^[* ] [^ ]+ ([0-9a-f]{64}\.[0-9]+).*/\1/p'); do
			case $(print_deployment "$pid" id) in *"/deploy/$id"*) listed=yes ;; esac
		done
		[ -n "$listed" ] || refuse_outdated "$1" "$service"
	done
}
