# A write on probation: the host undoes it unless a new login proves itself in time, even
# if the run or its connection is gone. probation, proved and undoing are one directory,
# and who renames it decides.

# start_probation starts the watch over the write, and ends the script. sshd reads its new
# configuration first, so that the new login tests this one.
start_probation() {
	if [ "$(print_sshd_config)" != "$sshdwas" ] || [ -n "$(print_changed_unit)" ]; then reload_sshd; fi
	mkdir "$tx/probation"
	watcher=$( # This ends when the watch heeds SIGTERM: one that comes earlier may be lost.
		( # exec, because some shells keep the descriptors that a function replaces
			exec </dev/null 2>/dev/null 5<&- 6<&- 7<&- 9>&-
			watch_write
		) &
		printf '%s' "$!"
	)
	printf '%s\n' "$watcher" >"$tx/watcher"
	trap - EXIT TERM INT
	mark_point probation
	exit 0
}

# watch_write waits for the proof, and undoes the write without one. A host that shuts down
# sends SIGTERM, and so does one that ends the processes of a lost session
# (KillUserProcesses). Then there is no time to wait.
watch_write() {
	waits=0
	trap 'waits=$probation' TERM
	exec >/dev/null
	while [ "$waits" -lt "$probation" ] && [ -e "$tx/probation" ] && [ ! -e "$tx/undo" ]; do
		sleep 1 8>&- || :
		waits=$((waits + 1))
	done
	trap '' TERM
	mv -T "$tx/probation" "$tx/undoing" 2>/dev/null || exit 0
	exec 2>"$tx/told"
	(exit 1) || undo_on_exit
}

# reload_sshd lets sshd read its configuration. If its unit has changed, a reload would not
# show that the unit starts, so sshd restarts; its connections stay. A unit that starts
# sshd for each connection needs nothing.
reload_sshd() {
	for unit in ssh.service sshd.service; do
		verb=reload
		case $reloaded:$(print_unit_state "$unit") in
		*:*ActiveState=active*) ;;
		"$unit":*) verb=restart ;; # the write has stopped it
		*) continue ;;
		esac
		if [ -n "$(print_changed_unit)" ]; then
			timeout -k 10 60 systemctl daemon-reload >/dev/null 2>&1 8>&- 9>&- || :
			case $(print_unit_state "$unit") in
			*KillMode=process*) verb=restart ;;
			esac
		fi
		reloaded=$unit
		timeout -k 10 60 systemctl "$verb" "$unit" >/dev/null 2>&1 8>&- 9>&- || :
		sleep 1 8>&- 9>&- # sshd does not listen while it starts again
		return
	done
}
print_unit_state() { timeout -k 10 20 systemctl show --property=ActiveState,NeedDaemonReload,KillMode "$1" 2>/dev/null 8>&- 9>&- || :; }

# print_changed_unit prints the unit of sshd if its files are not those that systemd has
# read.
print_changed_unit() {
	for one in ssh.service sshd.service; do
		case $(print_unit_state "$one") in
		*NeedDaemonReload=yes*) printf %s "$one" ;;
		esac
	done
}
