#!/bin/sh
# A stand-in for sudo: the options -n, -S and -p, and the messages of sudo 1.9 in the C locale.
# SSHTEST_SUDO is nopasswd, password:WORD, denied:WORD, tty or hidden:WORD (a prompt of its own). The ticket is a file.
p='[sudo] password: ' n='' S=''
while [ $# -gt 0 ]; do
	case $1 in
	-n) n=1 ;;
	-S) S=1 ;;
	-p) p=$2; shift ;;
	--) shift; break ;;
	*) break ;;
	esac
	shift
done
mode=${SSHTEST_SUDO%%:*} word=${SSHTEST_SUDO#*:}
case $mode in
tty) echo 'sudo: sorry, you must have a tty to run sudo' >&2; exit 1 ;;
hidden) p='Verification code: ' ;;
esac
if [ "$mode" != nopasswd ] && ! [ -e "$HOME/ticket" ]; then
	if [ -n "$n" ] || [ -z "$S" ]; then
		echo 'sudo: a password is required' >&2
		exit 1
	fi
	tries=0
	while printf %s "$p" >&2; do
		if ! IFS= read -r line; then
			printf '\nsudo: no password was provided\nsudo: %s incorrect password attempt\n' "$tries" >&2
			exit 1
		fi
		echo "$line" >>"$HOME/sudo-got"
		[ "$line" = "$word" ] && break
		tries=$((tries + 1))
		echo 'Sorry, try again.' >&2
	done
	if [ "$mode" = denied ]; then
		echo "$USER is not in the sudoers file." >&2
		exit 1
	fi
	[ -z "$SSHTEST_TICKET" ] || : >"$HOME/ticket"
fi
SSHTEST_ROOT=1
export SSHTEST_ROOT
exec "$@"
