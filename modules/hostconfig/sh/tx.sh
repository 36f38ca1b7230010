# Shared by the scripts that write a configuration to a host. It needs: run (its ID),
# doing (the start of messages) and root (prefix of all paths of configurations; empty
# on hosts). point NAME marks a place where a test may stop the script; see fault.sh.
export LC_ALL=C
PATH=$PATH:$root/usr/sbin:$root/sbin
umask 077
state=/var/lib/holdfast
applied=$state/applied.json
originals=$state/originals
tx=$state/tx/$run

# The script continues if the connection is lost.
trap '' HUP PIPE
say() { printf '%s\n' "$*" 2>/dev/null || :; }
complain() { printf '%s\n' "$*" >&2 || :; }

# lock excludes other scripts that write. Scripts for holds use another lock.
lock() {
	[ -d "$state" ] || (umask 077 && mkdir -p "$state") # with -p, two runs may make it at once
	case $(stat -c '%f %u' "$state") in
	"41c0 $uid") ;;
	4*" $uid") chmod 0700 "$state" ;;
	*)
		complain "$doing: $state has to be a directory of root's own, mode 0700; nothing was done"
		exit 1
		;;
	esac
	exec 8>>"$state/write.lock"
	if command -v flock >/dev/null 2>&1 && ! flock -n 8; then
		owner=$(head -c 300 "$state/write.lock")
		complain "$doing: another holdfast is writing to this host${owner:+ ($owner)}; nothing was done"
		exit 75
	fi
	say "run $run, $doing, as ${SUDO_USER:-root}, since $(date -u +%Y-%m-%dT%H:%M:%SZ), process $$" >"$state/write.lock"
	point locked
}

# receive unpacks the archive on standard input into the directory of the write.
receive() {
	said=$({ mkdir -p "$tx/new" && tar -xf - -C "$tx/new" --no-same-owner --no-same-permissions; } 2>&1) || {
		rm -rf "$tx/new"
		rmdir "$tx" 2>/dev/null || :
		complain "$doing: receive the files in $tx: $said"
		full "$said" && exit 77
		exit 1
	}
}
full() { case $1 in *'No space left on device'* | *'quota exceeded'*) ;; *) false ;; esac; }

# record FILE replaces the record of the host in one step.
record() {
	rm -f "$state"/.applied.*
	cp "$1" "$state/.applied.$$" && sync "$state/.applied.$$" &&
		mv -fT "$state/.applied.$$" "$applied" && sync "$state"
}

# trim removes the files of the write, except the list of restored originals.
trim() {
	cd /
	rm -rf "$tx/new" "$tx/old" "$tx/accounts" "$tx/applied" "$tx/contexts" "$tx/password" "$tx/said" "$tx/code"
	rmdir "$tx" 2>/dev/null || :
}

# forget ends all writes, and removes the originals that were restored. It must run
# after the record has dropped their paths.
forget() {
	for left in "$state"/tx/*; do
		[ -e "$left/restored" ] || continue
		while IFS= read -r name; do rm -f "$originals/$name" "$originals/$name.default"; done <"$left/restored"
		sync "$originals"
		rm -f "$left/restored"
	done
	sweepall
	rm -rf "$state/tx"
}

# finish cleans up after interrupted writes. This includes a write that had only to
# remove originals after its record.
finish() {
	for left in "$state"/tx/*/after; do
		if [ -e "$left" ] && [ -e "$applied" ] && [ "$(sha256sum <"$left")" = "$(sha256sum <"$applied")" ]; then
			forget
			return
		fi
	done
	sweepall
	rm -rf "$state/tx"
}
