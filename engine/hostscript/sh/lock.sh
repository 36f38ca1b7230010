# take_lock locks descriptor 9 against all scripts that change a hold or act under it. The
# script keeps the lock until it ends. If another script keeps it for 30 s, take_lock prints
# the text of the lock file and ends the script. It needs: holdlock (the lock file).
take_lock() {
	[ -d "${holdlock%/*}" ] || (umask 077 && mkdir -p "${holdlock%/*}")
	exec 9>>"$holdlock"
	if command -v flock >/dev/null 2>&1 && ! flock -w 30 9; then
		printf '%s\n' "hold: for 30 s the host has been busy with $(head -c 200 "$holdlock"); nothing was done, try again when that is over" >&2
		exit 82
	fi
}

