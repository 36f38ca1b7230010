# account NAME COMMAND... runs a command that changes an account.
account() {
	about="account $1"
	shift
	attempt "$@" </dev/null || refuse "$said"
}

# safehome fails if useradd would create the home in a directory where other accounts
# can swap files: useradd works with paths, and gives the files to the user. Arguments:
# user, home.
safehome() {
	about="account $1"
	parent=${2%/*}
	while [ -n "$parent" ] && ! [ -e "$root$parent" ] && ! [ -L "$root$parent" ]; do parent=${parent%/*}; done
	spot=
	(follow "$parent/." && firm "${here#"$root"}") || refuse "its home $2 would be made in a directory that others than root can change; choose another, or make it yourself and say no_create_home"
}

accountfiles='passwd shadow group gshadow subuid subgid'

# keepaccounts copies the account databases. accountsback restores these copies.
keepaccounts() {
	mkdir -p "$tx/accounts"
	for file in $accountfiles; do
		[ ! -e "$root/etc/$file" ] || cp -a "$root/etc/$file" "$tx/accounts"
	done
}

# accountsback restores the account databases. Changes that somebody else has made
# since keepaccounts are lost.
accountsback() {
	[ -n "$accounts" ] || return 0
	for file in $accountfiles; do
		[ -e "$tx/accounts/$file" ] || continue
		cp -a "$tx/accounts/$file" "$root/etc/.$file.holdfast" && mv -fT "$root/etc/.$file.holdfast" "$root/etc/$file" || kept="$kept, /etc/$file"
	done
}

# password sets the hash of a user (with chpasswd) or a group (chgpasswd). The hash
# appears in no process list. Arguments: command, name, file with the hash.
password() {
	about="password of $2"
	said=$({
		printf '%s:' "$2"
		cat "$3"
		echo
	} | "$1" -e 2>&1) || refuse "$said"
}

# hashname sets hash to the file name of the original hash of a user (shadow) or group
# (gshadow), and tool to the command that sets hashes. Arguments: database, name.
hashname() {
	about="password of $2"
	case $1 in
	shadow) hash=password-$2 tool=chpasswd ;;
	*) hash=group-password-$2 tool=chgpasswd ;;
	esac
}

# keeppassword saves the existing hash before holdfast first sets one. It must run
# before the record is written: after that, an existing hash comes from holdfast or is
# drift, and is not the original.
keeppassword() {
	hashname "$@"
	attempt getent "$1" -- "$2" || [ "$1" = gshadow ] || refuse "$said"
	said=${said#*:}
	printf %s "${said%%:*}" >"$tx/password" && sync "$tx/password" && mv -fT "$tx/password" "$originals/$hash" || refuse "it cannot be kept"
	sync "$originals"
}

# oldpassword restores the saved hash. If there is none, or there was no password, it
# locks the password.
oldpassword() {
	hashname "$@"
	if [ -s "$originals/$hash" ]; then
		password "$tool" "$2" "$originals/$hash"
		printf '%s\n' "$hash" >>"$tx/restored"
	else
		nopassword "$@"
	fi
}
nopassword() {
	hashname "$@"
	printf '*' >"$tx/password"
	password "$tool" "$2" "$tx/password"
	printf '%s\n' "$hash" >>"$tx/restored"
}

# retire locks an account for good: passwords, keys and jobs are refused. sshd, su and
# cron all refuse an expired account. retire also replaces the hash, so that unlocking
# restores no password.
retire() {
	account "$1" usermod -e 1 -- "$1"
	hashname shadow "$1"
	printf '!' >"$tx/password"
	password chpasswd "$1" "$tx/password"
	printf '%s\n' "$hash" >>"$tx/restored"
}

# remains prints the sessions of a locked account.
remains() {
	sessions=$(loginctl list-sessions --no-legend --no-pager 2>/dev/null | while read -r session _ user _; do
		[ "$user" != "$1" ] || printf ' %s' "$session"
	done) || :
	say "user $1 is locked and expired${sessions:+, and has sessions that go on until they end (loginctl terminate-user $1):$sessions}"
}

# sshkeys writes the lines of a file as the SSH keys of a user. It runs with the rights
# of the user, so that links in a home cannot make root write elsewhere.
sshkeys() {
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
	said=$(cat "$tx/said")
	case $(cat "$tx/code") in
	0) ;;
	124 | 137) refuse "not done within a minute${said:+: $said}" ;;
	*) refuse "$said" ;;
	esac
}

# keysplace sets place to fragment (a separate file for the keys) if sshd reads such a
# file, else to block.
keysplace() {
	place=block
	case $(sshd -T 2>/dev/null || :) in
	*authorized_keys.d* | *ssh-key-dir*) place=fragment ;;
	esac
}
