# account runs a command that changes an account.
account() {
	about="account $1"
	shift
	attempt "$@" </dev/null || refuse "$said"
}

accountfiles='passwd shadow group gshadow subuid subgid'

# keepaccounts copies what accounts are made of, for accountsback.
keepaccounts() {
	mkdir -p "$tx/accounts"
	for file in $accountfiles; do
		[ ! -e "$root/etc/$file" ] || cp -a "$root/etc/$file" "$tx/accounts"
	done
}

# accountsback may lose what somebody else has changed in these few moments.
accountsback() {
	[ -n "$accounts" ] || return 0
	for file in $accountfiles; do
		[ -e "$tx/accounts/$file" ] || continue
		cp -a "$tx/accounts/$file" "$root/etc/.$file.holdfast" && mv -fT "$root/etc/.$file.holdfast" "$root/etc/$file" || kept="$kept, /etc/$file"
	done
}

# password sets the hash of a user (with chpasswd) or a group (chgpasswd),
# which shows nowhere: command, name, file with the hash.
password() {
	about="password of $2"
	said=$({
		printf '%s:' "$2"
		cat "$3"
		echo
	} | "$1" -e 2>&1) || refuse "$said"
}

# keeppassword keeps the hash that a user had before.
keeppassword() {
	original=$originals/password-$1
	[ ! -e "$original" ] || return 0
	about="password of $1"
	attempt getent shadow -- "$1" || refuse "$said"
	said=${said#*:}
	printf %s "${said%%:*}" >"$tx/password" && sync "$tx/password" && mv -T "$tx/password" "$original" || refuse "it cannot be kept"
	sync "$originals"
}

# oldpassword puts that hash back; where there was none, none lets in.
oldpassword() {
	if [ -e "$originals/password-$1" ]; then
		password chpasswd "$1" "$originals/password-$1"
		printf '%s\n' "password-$1" >>"$tx/restored"
	else
		nopassword "$1"
	fi
}
nopassword() {
	printf '*' >"$tx/password"
	password chpasswd "$1" "$tx/password"
}

# sshkeys makes the lines of a file a user's keys, with the user's own rights:
# links in a home cannot make root write elsewhere.
sshkeys() {
	about="SSH keys of $1"
	home=$(getent passwd -- "$1" | cut -d: -f6)
	[ -n "$home" ] || refuse "there is no such user"
	attempt runuser -u "$1" -- sh -c "$job" keys "$root$home" "$place" <"$2" || refuse "$said"
}

# keysplace sets place: a file of their own for keys if sshd reads one.
keysplace() {
	place=block
	case $(sshd -T 2>/dev/null || :) in
	*authorized_keys.d* | *ssh-key-dir*) place=fragment ;;
	esac
}
