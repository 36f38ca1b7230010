# change_account NAME COMMAND... runs a command that changes an account.
change_account() {
	about="account $1"
	shift
	attempt "$@" </dev/null || refuse "$output"
}

# remove_group removes a group. userdel may have removed it already: it also removes the own
# group of a user.
remove_group() {
	code=0
	attempt getent group -- "$1" || code=$?
	[ "$code" = 2 ] || change_account "$1" groupdel -- "$1"
}

# join_groups adds a user to groups, and leaves the user's other groups. Then it checks
# that the user is in them: usermod ends with 0, and does nothing, for a group that it
# finds only outside of /etc/group. Arguments: user, groups.
join_groups() {
	joiner=$1
	shift
	for group; do
		is_member "$joiner" "$group" || {
			copy_os_group "$group"
			change_account "$joiner" usermod -a -G "$group" -- "$joiner"
		}
		is_member "$joiner" "$group" || refuse "usermod ended with 0, and $joiner is not in group $group: the host has the group from elsewhere than /etc/group; create it in passwd.groups, or take it out of the groups of $joiner"
	done
}

# leave_groups takes groups away from a user. Arguments: user, groups.
leave_groups() {
	joiner=$1
	shift
	for group; do
		! is_member "$joiner" "$group" || change_account "$joiner" gpasswd -d "$joiner" "$group"
		! is_member "$joiner" "$group" || refuse "gpasswd ended with 0, and $joiner is still in group $group"
	done
}
is_member() {
	case " $(id -Gn -- "$1" 2>/dev/null) " in
	*" $2 "*) ;;
	*) false ;;
	esac
}

# copy_os_group copies a group of the OS, which is in /usr/lib/group, to /etc/group, where
# usermod can change it. It holds the lock of usermod meanwhile.
copy_os_group() {
	about="group $1"
	! print_group_line "$1" "$root/etc/group" >/dev/null || return 0
	line=$(print_group_line "$1" "$root/usr/lib/group") || return 0
	wait=0
	printf '%s' "$$" >"$root/etc/group.$$"
	until ln "$root/etc/group.$$" "$root/etc/group.lock" 2>/dev/null; do
		wait=$((wait + 1))
		if [ "$wait" -gt 15 ]; then
			rm -f "$root/etc/group.$$"
			refuse "/etc/group is locked by another program"
		fi
		sleep 1
	done
	output=$({ cp -a "$root/etc/group" "$root/etc/.group.holdfast" && printf '%s\n' "$line" >>"$root/etc/.group.holdfast" &&
		sync "$root/etc/.group.holdfast" && mv -fT "$root/etc/.group.holdfast" "$root/etc/group"; } 2>&1) || wait=failed
	rm -f "$root/etc/group.lock" "$root/etc/group.$$"
	[ "$wait" != failed ] || refuse "$output"
}

# print_group_line prints the line of a group in a file, if there is one. Arguments: name,
# file.
print_group_line() {
	[ -f "$2" ] || return 1
	while IFS= read -r entry || [ -n "$entry" ]; do
		case $entry in
		"$1:"*)
			printf '%s\n' "$entry"
			return
			;;
		esac
	done <"$2"
	return 1
}

# check_home fails if useradd would create the home in a directory where other accounts
# can swap files: useradd works with paths, and gives the files to the user. Arguments:
# user, home.
check_home() {
	about="account $1"
	parent=${2%/*}
	while [ -n "$parent" ] && ! [ -e "$root$parent" ] && ! [ -L "$root$parent" ]; do parent=${parent%/*}; done
	entered=
	(follow_path "$parent/." && is_root_only "${cwd#"$root"}") || refuse "its home $2 would be made in a directory that others than root can change; choose another, or make it yourself and say no_create_home"
}

accountfiles='passwd shadow group gshadow subuid subgid'

# keep_account_files copies the account databases. restore_account_files restores these
# copies.
keep_account_files() {
	about='account databases'
	need_room /etc
	for file in $accountfiles; do
		[ ! -e "../$file" ] || attempt cp -a "../$file" "./account-$file" || refuse "$output"
	done
	attempt sync ./account-* || refuse "$output"
}

# restore_account_files restores the account databases. Changes that somebody else has made
# since keep_account_files are lost.
restore_account_files() {
	[ -n "$accounts" ] || return 0
	enter_room /etc || kept="$kept, account databases"
	for file in $accountfiles; do
		[ ! -e "./account-$file" ] || mv -fT "./account-$file" "../$file" || kept="$kept, /etc/$file"
	done
}

# set_password sets the hash of a user (with chpasswd) or a group (chgpasswd). The hash
# appears in no process list. Arguments: command, name, file with the hash.
set_password() {
	about="password of $2"
	output=$({
		printf '%s:' "$2"
		cat "$3"
		echo
	} | "$1" -e 2>&1) || refuse "$output"
}

# name_hash sets hash to the file name of the original hash of a user (shadow) or group
# (gshadow), and tool to the command that sets hashes. Arguments: database, name.
name_hash() {
	about="password of $2"
	case $1 in
	shadow) hash=password-$2 tool=chpasswd ;;
	*) hash=group-password-$2 tool=chgpasswd ;;
	esac
}

# keep_password saves the existing hash before holdfast first sets one. It must run
# before the record is written: after that, an existing hash comes from holdfast or is
# drift, and is not the original.
keep_password() {
	name_hash "$@"
	attempt getent "$1" -- "$2" || [ "$1" = gshadow ] || refuse "$output"
	output=${output#*:}
	printf %s "${output%%:*}" >"$tx/password" && sync "$tx/password" && mv -fT "$tx/password" "$originals/$hash" || refuse "it cannot be kept"
	sync "$originals"
}

# restore_password restores the saved hash. If there is none, or there was no password, it
# locks the password.
restore_password() {
	name_hash "$@"
	if [ -s "$originals/$hash" ]; then
		set_password "$tool" "$2" "$originals/$hash"
		printf '%s\n' "$hash" >>"$tx/restored"
	else
		lock_password "$@"
	fi
}
lock_password() {
	name_hash "$@"
	printf '*' >"$tx/password"
	set_password "$tool" "$2" "$tx/password"
	printf '%s\n' "$hash" >>"$tx/restored"
}

# retire_account locks an account for good: passwords, keys and jobs are refused. sshd,
# su and cron all refuse an expired account. retire_account also replaces the hash, so
# that unlocking restores no password.
retire_account() {
	change_account "$1" usermod -e 1 -- "$1"
	name_hash shadow "$1"
	printf '!' >"$tx/password"
	set_password chpasswd "$1" "$tx/password"
	printf '%s\n' "$hash" >>"$tx/restored"
}

# report_sessions prints the sessions of a locked account.
report_sessions() {
	sessions=$(loginctl list-sessions --no-legend --no-pager 2>/dev/null | while read -r session _ user _; do
		[ "$user" != "$1" ] || printf ' %s' "$session"
	done) || :
	say "user $1 is locked and expired${sessions:+, and has sessions that go on until they end (loginctl terminate-user $1):$sessions}"
}

# write_ssh_keys writes the lines of a file as the SSH keys of a user. It runs with the
# rights of the user, so that links in a home cannot make root write elsewhere.
write_ssh_keys() {
	about="SSH keys of $1"
	home=$(getent passwd -- "$1" | cut -d: -f6)
	[ -n "$home" ] || refuse "there is no such user"
	# The user can take over this process. So the process gets no open file of root
	# that it could keep, and the script waits neither for a pipe nor for endless
	# output.
	{
		code=0
		timeout -k 5 60 runuser -u "$1" -- sh -c "$job" keys "$root$home" "$place" <"$2" 2>&1 5<&- 6<&- 7<&- 8>&- 9>&- || code=$?
		printf '%s\n' "$code" >"$tx/code"
	} | timeout -k 5 70 head -c 4096 >"$tx/said" || :
	output=$(cat "$tx/said")
	case $(cat "$tx/code") in
	0) ;;
	124 | 137) refuse "not done within a minute${output:+: $output}" ;;
	*) refuse "$output" ;;
	esac
}

# find_keys_place sets place to fragment (a separate file for the keys) if sshd reads such a
# file, else to block.
find_keys_place() {
	place=block
	case $(sshd -T 2>/dev/null || :) in
	*authorized_keys.d* | *ssh-key-dir*) place=fragment ;;
	esac
}
