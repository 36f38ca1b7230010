# The way of the run's account into the host, and to root. A document can take it in
# many ways: groups, a shell, files of sudo, sshd or PAM, an owner, a mode. So no list of
# such ways is kept. Before and after the change, sudo, sshd and the account's own shell
# are asked. A judge that was content before and is not afterwards undoes the write.
login=${SUDO_USER:-root}
judges='shell root rules sudoers sshd admits hostkeys starts'

# ask_judge NAME asks one judge, and sets output to its answer. sudo gets -k, because it may
# remember an earlier password. If sudo wants a password, only its rules can be asked.
# visudo gets -f, because without it a mode other than 0440 is an error, which it is not
# for sudo.
ask_judge() {
	output=
	case $1 in
	shell) run_as_account ':' ;;
	root) [ "$login" = root ] || run_as_account 'exec sudo -n -k -- sh -c :' ;;
	rules) [ "$login" = root ] || attempt timeout -k 5 30 sudo -n -l -U "$login" sh ;;
	sudoers) attempt timeout -k 5 30 visudo -c -f "$root/etc/sudoers" ;;
	sshd) attempt timeout -k 5 30 sshd -t ;;
	admits) sshd_admits ;;
	hostkeys) has_host_keys ;;
	starts) sshd_starts ;;
	esac </dev/null
}
# list_ways_in prints the judges that are content.
list_ways_in() {
	for name in $judges; do
		! ask_judge "$name" >/dev/null 2>&1 || printf '%s ' "$name"
	done
}

# check_ways_in undoes the write if a judge is not content any more. Argument: the
# judges that were content before.
check_ways_in() {
	for name in $1; do
		ask_judge "$name" >/dev/null 2>&1 || { # the connection may be gone, and its descriptors closed
			about="the login of holdfast as $login"
			case $name in
			shell) refuse "its shell no longer runs a command${output:+: $output}" ;;
			root | rules) refuse "sudo no longer lets it become root${output:+: $output}" ;;
			sudoers) refuse "visudo -c finds an error in the files of sudo${output:+: $output}" ;;
			sshd) refuse "sshd -t finds an error in the configuration of sshd${output:+: $output}" ;;
			admits) refuse "sshd would no longer let it in: $output" ;;
			hostkeys) refuse "sshd would lose the host key $output, so that nobody who knows it would connect" ;;
			starts) refuse "no unit of sshd would start at the next boot" ;;
			esac
		}
	done
}

# run_as_account runs a command with the account's own shell, as sshd does. The account can
# take over this process, so it gets no open file of root.
run_as_account() {
	{
		code=0
		timeout -k 5 30 runuser "$login" -c "$1" </dev/null 2>&1 5<&- 6<&- 7<&- 8>&- 9>&- || code=$?
		printf '%s\n' "$code" >"$tx/code"
	} | timeout -k 5 40 head -c 4096 >"$tx/said" || :
	output=$(cat "$tx/said")
	[ "$(cat "$tx/code")" = 0 ]
}

# find_peer sets peer, own and port to the addresses of the SSH connection, which sudo
# hides from its own environment.
find_peer() {
	from=
	pid=$$
	while [ -z "$from" ] && [ "${pid:-0}" -gt 1 ]; do
		from=$(tr '\000' '\n' <"/proc/$pid/environ" 2>/dev/null | sed -n 's/^SSH_CONNECTION=\([0-9a-zA-Z.:%_ -]*\)$/\1/p' | head -n 1) || :
		pid=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$pid/status" 2>/dev/null) || pid=
	done
	# shellcheck disable=SC2086 # words
	set -- ${from:-127.0.0.1 0 127.0.0.1 22}
	peer=$1 own=${3:-127.0.0.1} port=${4:-22}
}

# sshd_admits reports whether sshd admits the account by its name and its groups. No command
# of sshd judges this, so the lists of its effective configuration are matched here. An
# address with a mask counts as a match; a new login decides about it.
sshd_admits() {
	find_peer
	rules=$(timeout -k 5 30 sshd -T -C "user=$login,host=$peer,addr=$peer,laddr=$own,lport=$port" 2>&1) || {
		output=$rules
		return 1
	}
	allowed='' listed='' denied=''
	set -f
	groupnames=$(id -Gn -- "$login")
	while read -r key value _; do
		case $key in
		pubkeyauthentication | permitrootlogin) ;;
		denyusers) ! matches_user "$value" || denied="DenyUsers $value" ;;
		denygroups) ! matches_group "$value" || denied="DenyGroups $value" ;;
		allowusers)
			listed="$listed AllowUsers"
			! matches_user "$value" || allowed="$allowed AllowUsers"
			;;
		allowgroups)
			listed="$listed AllowGroups"
			! matches_group "$value" || allowed="$allowed AllowGroups"
			;;
		*) continue ;;
		esac
		case $login:$key:$value in
		*:pubkeyauthentication:no) denied="PubkeyAuthentication no" ;;
		root:permitrootlogin:no | root:permitrootlogin:forced-commands-only) denied="PermitRootLogin $value" ;;
		esac
	done <<LIST
$rules
LIST
	set +f
	for list in AllowUsers AllowGroups; do
		case $listed:$allowed in
		*"$list"*:*"$list"*) ;;
		*"$list"*:*) denied="$list does not name it" ;;
		esac
	done
	output=$denied
	[ -z "$denied" ]
}
matches_user() {
	case $1 in
	*@*/*) set -- "${1%@*}" "$peer" ;;
	*@*) set -- "${1%@*}" "${1##*@}" ;;
	*) set -- "$1" "$peer" ;;
	esac
	# shellcheck disable=SC2254 # patterns, as in sshd
	case $login in
	$1)
		case $peer in
		$2) return 0 ;;
		esac
		;;
	esac
	return 1
}
matches_group() {
	for group in $groupnames; do
		# shellcheck disable=SC2254 # patterns, as in sshd
		case $group in
		$1) return 0 ;;
		esac
	done
	return 1
}

# print_sshd_config prints the configuration of sshd.
print_sshd_config() { timeout -k 5 30 sshd -T 2>&1 || :; }

# has_host_keys reports whether sshd has all host keys that it had before the write. A new
# login shows which of them the bastion needs, so after a write on probation one is enough.
has_host_keys() {
	keys=$(print_sshd_config | sed -n 's/^hostkey //p' | while IFS= read -r file; do
		ssh-keygen -l -E sha256 -f "$root$file" 2>/dev/null | cut -d ' ' -f 2
	done)
	[ -n "$keys" ] || return 1
	hadkeys=${hadkeys:-$keys}
	stays=
	for key in $hadkeys; do
		case "
$keys
" in
		*"
$key
"*) stays=yes ;;
		*) output=$key ;;
		esac
	done
	[ -z "$output" ] || { [ -n "$probation" ] && [ -n "$stays" ]; }
}

# sshd_starts reports whether a unit of sshd starts at boot.
sshd_starts() {
	for unit in sshd.service ssh.service sshd.socket ssh.socket; do
		case $(timeout -k 5 30 systemctl is-enabled -- "$unit" 2>/dev/null 8>&- 9>&- || :) in
		enabled | static | indirect | generated | alias) return 0 ;;
		esac
	done
	return 1
}
