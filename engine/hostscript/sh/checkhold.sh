# check_hold ends the script if somebody else holds the host. It needs: holdpath, holdown and
# holdadopted (lines of a hold that name the run and a run whose hold it adopts; '': none),
# and holdmust (yes: a host without a hold is refused, too).
check_hold() {
	if [ ! -e "$holdpath" ] && [ ! -L "$holdpath" ]; then
		[ -n "$holdmust" ] || return 0
		printf '%s\n' 'hold: the host is not held by this run; nothing was done' >&2
		exit 75
	fi
	hold=$(cat "$holdpath") || hold=unreadable
	for holder in "$holdown" "$holdadopted"; do
		case $hold in
		*"$holder"*) [ -z "$holder" ] || return 0 ;;
		esac
	done
	printf '%s\n' "$hold"
	printf '%s\n' 'hold: the host is held by someone else; nothing was done' >&2
	exit 75
}

# claim_host OPERATION takes the lock of holds, writes the run and the operation into the lock
# file, and checks the hold again. It needs: holdrun, and the variables of lock.sh.
claim_host() {
	take_lock
	check_hold
	printf '%s\n' "run $holdrun, $1, since $(date -u +%Y-%m-%dT%H:%M:%SZ)" 2>/dev/null >"$holdlock" || : # a full disk stops no reboot
}

check_hold
