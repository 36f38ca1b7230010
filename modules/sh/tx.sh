# What the scripts share that write a configuration to a host. It needs: run
# (whose transaction it is), doing (what a person calls it) and root (what paths
# of configurations are below; nothing on hosts).
#
# For tests, a script stops at a named point where /run/holdfast/fault holds
# that name: it removes the file, makes fault-hit, and waits for fault-go. The
# points, in order: locked, unpacked, checked, prepared, saved, before, groups,
# users, rename N (before the Nth entry of the list of edits is replaced or
# goes), replaced, keys, units, written, act N, acted, record, recorded.
export LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
umask 077
state=/var/lib/holdfast
applied=$state/applied.json
originals=$state/originals
tx=$state/tx/$run

# The connection may be gone, which stops nothing.
trap '' HUP PIPE
say() { printf '%s\n' "$*" 2>/dev/null || :; }
complain() { printf '%s\n' "$*" >&2 || :; }

point() { [ ! -e /run/holdfast/fault ] || fault "$1"; }
fault() {
	[ "$(cat /run/holdfast/fault)" = "$1" ] || return 0
	rm -f /run/holdfast/fault
	: >/run/holdfast/fault-hit
	sync /run/holdfast
	while [ ! -e /run/holdfast/fault-go ]; do sleep 0.1; done
	rm -f /run/holdfast/fault-go
}

# lock keeps out other scripts that write. Hold scripts have a lock of their
# own: a hold is renewed while this goes on.
lock() {
	[ -d "$state" ] || mkdir -m 0700 "$state"
	exec 8>"$state/write.lock"
	if command -v flock >/dev/null 2>&1 && ! flock -n 8; then
		complain "$doing: another holdfast is writing to this host; nothing was done"
		exit 75
	fi
	point locked
}

# receive unpacks the archive on standard input into the transaction.
receive() {
	said=$(mkdir -p "$tx/new" && tar -xf - -C "$tx/new" --no-same-owner --no-same-permissions 2>&1) || {
		rm -rf "$tx/new"
		rmdir "$tx" 2>/dev/null || :
		complain "$doing: receive the files in $tx: $said"
		full "$said" && exit 77
		exit 1
	}
}
full() { case $1 in *'No space left on device'* | *'quota exceeded'*) ;; *) false ;; esac; }

# record makes a file the host's record, wholly or not at all.
record() {
	rm -f "$state"/.applied.*
	cp "$1" "$state/.applied.$$" && sync "$state/.applied.$$" &&
		mv -fT "$state/.applied.$$" "$applied" && sync "$state"
}

# forget removes the originals that have been put back, once the record says
# that their paths are not ours any more, and the transaction.
forget() {
	if [ -e "$1/restored" ]; then
		while IFS= read -r name; do rm -f "$originals/$name" "$originals/$name.default"; done <"$1/restored"
		sync "$originals"
	fi
	rm -rf "$1"
}

# finish forgets what transactions have left that were cut short.
finish() {
	for left in "$state"/tx/*; do
		if [ ! -d "$left" ]; then
			continue
		elif [ -e "$left/after" ] && [ -e "$applied" ] && [ "$(sha256sum <"$left/after")" = "$(sha256sum <"$applied")" ]; then
			forget "$left"
		else
			rm -rf "$left"
		fi
	done
}
