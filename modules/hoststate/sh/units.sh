# Prints failed units, running services, and units of holdfast and of a shutdown, one a
# line: NAME LOAD ACTIVE SUB, and the state of its unit file for a running service. It
# omits user managers and sessions that run: they start and stop with logins. It needs:
# stageunit and rebootunit. Later scripts read units: all units that are not inactive or
# have a job.
#
# Two calls answer all questions. systemctl show would make systemd collect hundreds of
# properties of each unit, and list-unit-files would make it read all unit files.
units=$(systemctl list-units --plain --no-legend --no-pager --full) && (
	newline='
'
	set -f
	names='' services=''
	IFS=$newline
	for line in $units; do
		IFS=' '
		# shellcheck disable=SC2086 # columns are words
		set -- $line
		# Some versions of systemd print a mark in front of a failed unit, even with
		# --plain. A mark has no dot, and every name has one.
		case $1 in
		?*.?*) ;;
		*) shift ;;
		esac
		case $1:$3:$4 in
		user@*:running | session-*:running) ;;
		*.service:*:running)
			names="$names $1"
			services="$services$1 $2 $3 $4$newline"
			;;
		*:failed:* | *:failed | shutdown.target:* | "$stageunit":* | "$rebootunit":*) printf '%s\n' "$1 $2 $3 $4" ;;
		esac
	done
	[ -n "$names" ] || exit 0
	# shellcheck disable=SC2086 # names are words
	states=$(SYSTEMCTL_SKIP_SYSV=1 systemctl is-enabled -- $names 2>/dev/null) || :
	IFS=$newline
	# shellcheck disable=SC2086 # a state is a line
	set -- $states
	asked=0
	for line in $services; do asked=$((asked + 1)); done
	# Before version 253, systemctl stops at a service whose unit file is gone. Then the
	# script asks about each service alone.
	for line in $services; do
		if [ "$#" -eq "$asked" ]; then
			state=$1
			shift
			asked=$((asked - 1))
		else
			state=$(SYSTEMCTL_SKIP_SYSV=1 systemctl is-enabled -- "${line%% *}" 2>/dev/null) || :
		fi
		printf '%s\n' "$line $state"
	done
)
