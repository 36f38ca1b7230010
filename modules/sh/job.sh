# Runs as the transient unit: does what the driver's function stage says, given
# options that change kernel arguments. Its output goes to the journal and to a
# log, which also a script that joins a unit it has not started can read.
# Objects that were pulled stay on disk whatever happens, so a staging that is
# cut short is resumed by the next.
set -eu
umask 022
rm -f "$0" "$work/stage.result"
claim staging # and whoever takes a hold from here on finds the unit, and stops it
exec 9>&-
{
	set +e # and on again in a subshell: in a condition it would mean nothing
	(
		set -e
		stage "$@"
		note
	) 2>&1
	say $? >"$work/stage.result"
} | tee "$work/stage.log"
exit "$(cat "$work/stage.result")"
