# Runs as the transient unit. It calls the function stage of the driver, with options
# that change kernel arguments. The output goes to the journal, and to a log for a
# script that waits for the unit of another script. Objects that were pulled stay on
# disk in any case, so the next staging continues after them.
set -eu
umask 022
rm -f "$0" "$work/stage.result" "$work/stage.levers"
claim staging # a person who takes a hold from here on finds this unit and stops it
exec 9>&-
if [ -n "$port" ]; then export no_proxy="${no_proxy:+$no_proxy,}127.0.0.1"; fi

runstage() {
	{
		set +e # the subshell sets -e again; in a condition -e would have no effect
		(
			set -e
			stage "$@"
			note
		) 2>&1
		say $? >"$work/stage.result"
	} | tee "$work/stage.log"
}

if [ "$governed" = daemon ]; then
	rm -f "$pacefile"
	notelever freeze no "the daemon of the OS tool does the work, in a unit of its own"
fi
if [ "$governed" = yes ] && makegroup; then
	(
		lowerpriority
		joingroup # the group is frozen, so this process waits
		runstage "$@"
	) &
	staging=$!
	awaitgroup
	if [ "$populated" = 0 ] && [ ! -e "$work/stage.result" ]; then
		notelever freeze no "the staging cannot join its cgroup"
		startlimits
	fi
	govern
	wait "$staging" || :
else
	if [ -n "$governed" ]; then startlimits; fi
	if [ "$governed" = yes ]; then lowerpriority; fi
	runstage "$@"
fi
stoplimits
exit "$(cat "$work/stage.result")"
