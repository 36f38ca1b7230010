# Shared by the scripts that write a configuration to a host. It needs: run (its ID),
# doing (the start of messages) and root (prefix of all paths of configurations; empty
# on hosts). It sets: state, applied, originals and tx (paths of holdfast), and output (of a
# command that may fail). mark_point NAME marks a place where a test may stop the script;
# see fault.sh.
export LC_ALL=C
PATH=$PATH:$root/usr/sbin:$root/sbin
umask 077
state=/var/lib/holdfast
applied=$state/applied.json
originals=$state/originals
tx=$state/tx/$run

# The script continues if the connection is lost.
trap '' HUP PIPE
# The next pipe would get the number of a closed descriptor.
true 2>/dev/null 3>&1 || exec >/dev/null
true 3>&2 || exec 2>/dev/null
say() { printf '%s\n' "$*" 2>/dev/null || :; }
complain() { printf '%s\n' "$*" >&2 || :; }

# take_write_lock excludes other scripts that write. Scripts for holds use another lock.
take_write_lock() {
	[ -d "$state" ] || (umask 077 && mkdir -p "$state") # with -p, two runs may make it at once
	case $(stat -c '%f %u' "$state") in
	"41c0 $uid") ;;
	4*" $uid") chmod 0700 "$state" ;;
	*)
		complain "$doing: $state has to be a directory of root's own, mode 0700; nothing was done"
		exit 1
		;;
	esac
	if has_acl "$state"; then
		complain "$doing: $state has an access control list, which all files of holdfast would have, too; remove it (setfacl -b -k $state); nothing was done"
		exit 1
	fi
	exec 8>>"$state/write.lock"
	if command -v flock >/dev/null 2>&1 && ! flock -n 8; then
		owner=$(head -c 300 "$state/write.lock")
		complain "$doing: another holdfast is writing to this host${owner:+ ($owner)}; nothing was done"
		exit 75
	fi
	say "run $run, $doing, as ${SUDO_USER:-root}, since $(date -u +%Y-%m-%dT%H:%M:%SZ), process $$" >"$state/write.lock"
	mark_point locked
}

# receive_files unpacks the archive on standard input into the directory of the write.
receive_files() {
	output=$({ mkdir -p "$tx/new" && tar -xf - -C "$tx/new" --no-same-owner --no-same-permissions; } 2>&1) || {
		rm -rf "$tx/new"
		rmdir "$tx" 2>/dev/null || :
		complain "$doing: receive the files in $tx: $output"
		is_disk_full "$output" && exit 77
		exit 1
	}
}
is_disk_full() { case $1 in *'No space left on device'* | *'quota exceeded'*) ;; *) false ;; esac; }

# replace_record FILE replaces the record of the host in one step.
replace_record() {
	rm -f "$state"/.applied.*
	cp "$1" "$state/.applied.$$" && sync "$state/.applied.$$" &&
		mv -fT "$state/.applied.$$" "$applied" && sync "$state"
}

# remove_write_files removes the files of the write, except the list of restored originals.
remove_write_files() {
	cd /
	rm -rf "$tx/new" "$tx/old" "$tx/plain" "$tx/applied" "$tx/contexts" "$tx/password" "$tx/said" "$tx/code" "$tx/watcher" "$tx/undo" "$tx/told"
	rmdir "$tx" 2>/dev/null || :
}

# forget_writes ends all writes, and removes the originals that were restored. It must run
# after the record has dropped their paths.
forget_writes() {
	for left in "$state"/tx/*; do
		[ -e "$left/restored" ] || continue
		while IFS= read -r name; do rm -f "$originals/$name" "$originals/$name.default"; done <"$left/restored"
		sync "$originals"
		rm -f "$left/restored"
	done
	sweep_all_rooms
	rm -rf "$state/tx"
}

# clean_up_writes cleans up after interrupted writes. This includes a write that had only to
# remove originals after its record.
clean_up_writes() {
	for left in "$state"/tx/*/after; do
		if [ -e "$left" ] && [ -e "$applied" ] && [ "$(sha256sum <"$left")" = "$(sha256sum <"$applied")" ]; then
			forget_writes
			return
		fi
	done
	sweep_all_rooms
	rm -rf "$state/tx"
}
