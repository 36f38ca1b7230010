# Runs a command of a playbook with sh, and ends it where it takes too long. It
# needs: command, limit (seconds), within (that, for people) and failed (the
# exit status that says that it failed).
#
# What it prints is passed on as it comes. What it says on the other stream is
# kept, its end only, so that the line that tells how it ended comes first.
export LC_ALL=C
claim "a command of a playbook"
began=$(date +%s)
exec 3>&1
said=$({
	# timeout makes a process group of its own, which what the command starts
	# is in, too. What of that outlives the signal is killed here.
	timeout -k 10 "$limit" sh -c "$command" 2>&1 >&3 3>&- 9>&- </dev/null &
	group=$!
	code=0
	wait "$group" 2>/dev/null || code=$? # some shells say which signal it was
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
code=${said##*"$newline"}
said=${said%"$newline"*}
said=${said%"$newline"}
case $code in
0)
	[ -z "$said" ] || printf '%s\n' "$said"
	exit 0
	;;
late) reason="not done within $within; it was killed, with what it had started" ;;
*) reason="exit status $code" ;;
esac
printf '%s\n' "$reason${said:+$newline$said}" >&2
exit "$failed"
