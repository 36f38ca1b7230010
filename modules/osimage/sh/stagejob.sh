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

# keep_locked locks the staged deployment if the tool has lost the lock. The script that
# waits for this unit may have lost its connection.
keep_locked() {
	read_staged
	if [ "$locked" = no ]; then lock_staged; fi
}

run_stage() {
	{
		set +e # the subshell sets -e again; in a condition -e would have no effect
		(
			set -e
			check_survivors stage
			rm -f "$mark"
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
