# Runs as the transient unit. It calls the function stage_os of the driver, with options
# that change kernel arguments. The output goes to the journal, and to a log for a
# script that waits for the unit of another script. Objects that were pulled stay on
# disk in any case, so the next staging continues after them. It needs survivors.sh.
set -eu
umask 022
rm -f "$0" "$work/stage.result" "$work/stage.levers" "$work/stage.log"
claim_host staging # a person who takes a hold from here on finds this unit and stops it
exec 9>&-
if [ -n "$port" ]; then export no_proxy="${no_proxy:+$no_proxy,}127.0.0.1"; fi

# The service of bootc's timer unlocks a staged image, with whichever tool it was staged, and reboots
# the host at once. block_updates adds conditions to it: it does not start while there is a lock as a file or a staged
# deployment. A lock may be only in the deployment: ostree removes the file with a deployment that is replaced, and this
# script may be killed then.
updates=bootc-fetch-apply-updates.service
block_updates() {
	systemctl cat "$updates" >/dev/null 2>&1 || updates=
	[ -n "$updates" ] || return 0
	mkdir -p "/run/systemd/system/$updates.d"
	printf '[Unit]\nConditionPathExists=!%s\nConditionPathExists=!%s\n' "$lockfile" "$deployment" >"/run/systemd/system/$updates.d/50-holdfast-staged.conf"
	systemctl daemon-reload
}

# lock_by_file makes the file that locks what is staged next, unless that replaces a staged deployment: ostree removes
# the file with it. It ends an update that runs already, which waits for ostree and would unlock what it finds staged then.
lock_by_file() {
	mkdir -p "${lockfile%/*}"
	: >"$lockfile"
	if [ -n "$updates" ]; then systemctl stop "$updates"; fi
}

# keep_locked locks the staged deployment if the tool has lost the lock, and makes the file of a lock that is
# only in the deployment. The script that waits for this unit may have lost its connection.
keep_locked() {
	read_staged
	if [ "$locked" = no ]; then lock_staged; fi
	lock_by_file
}

run_stage() {
	{
		set +e # the subshell sets -e again; in a condition -e would have no effect
		(
			set -e
			check_survivors stage
			rm -f "$mark"
			block_updates
			stage_os "$@"
			keep_locked
			mark_args
		) 2>&1
		say $? >"$work/stage.result"
	} | tee "$work/stage.log"
}

if [ "$governed" = daemon ]; then
	rm -f "$pacefile"
	note_lever freeze no "the daemon of the OS tool does the work, in a unit of its own"
fi
if [ "$governed" = yes ] && make_group; then
	(
		lower_priority
		join_group # the group is frozen, so this process waits
		run_stage "$@"
	) &
	staging=$!
	await_group
	if [ "$populated" = 0 ] && [ ! -e "$work/stage.result" ]; then
		note_lever freeze no "the staging cannot join its cgroup"
		start_limits
	fi
	govern_staging
	wait "$staging" || :
else
	if [ -n "$governed" ]; then start_limits; fi
	if [ "$governed" = yes ]; then lower_priority; fi
	run_stage "$@"
fi
stop_limits
exit "$(cat "$work/stage.result")"
