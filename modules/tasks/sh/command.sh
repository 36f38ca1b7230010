# Runs a command of a playbook with sh, and kills it after the timeout. It needs:
# command, limit (seconds), within (limit as text) and failed (the exit status if the
# command fails).
#
# The script passes standard output on at once. Of standard error it keeps only the
# end, so that the line about the exit comes first.
export LC_ALL=C
claim_host "a command of a playbook"
began=$(date +%s)
exec 3>&1
output=$({
	# timeout creates a process group, which also has the children of the command. The
	# script kills the processes of this group that survive the signal.
	timeout -k 10 "$limit" sh -c "$command" 2>&1 >&3 3>&- 9>&- </dev/null &
	group=$!
	code=0
	wait "$group" 2>/dev/null || code=$? # some shells print the signal that ended the process
	took=$(($(date +%s) - began))
	case $code in
	124 | 137)
		if [ "$took" -ge "$limit" ]; then
			code=late
			kill -s KILL -- "-$group" 2>/dev/null || :
		fi
		;;
	esac
	printf '\n%s' "$code"
} | tail -c 4096)
newline='
'
code=${output##*"$newline"}
output=${output%"$newline"*}
output=${output%"$newline"}
case $code in
0)
	[ -z "$output" ] || printf '%s\n' "$output"
	exit 0
	;;
late) reason="not done within $within; it was killed, with all processes that it had started" ;;
*) reason="exit status $code" ;;
esac
printf '%s\n' "$reason${output:+$newline$output}" >&2
exit "$failed"
