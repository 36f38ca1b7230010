# Probes every resource of the desired configuration (wanted) and of the record on the
# host. It changes nothing. It needs: root (prefix of all paths of configurations;
# empty on hosts), record, originals, wanted (see subjectLines), maxrecord and limit
# (bytes). No name contains a tab or a newline.
set -euf
export LC_ALL=C QUOTING_STYLE=literal
PATH=$PATH:$root/usr/sbin:$root/sbin
tab=$(printf '\t')
newline='
'
IFS=$newline
cd "$root/"

say() { printf '%s\n' "$*"; }
# print_targets prints a line PATH, a tab, PATH -> TARGET for each link. An attacker may put
# newlines into a target.
print_targets() { xargs -0 -r stat --printf='%n\t%N\0' -- | tr '\n\000' '\001\n'; }
# print_resources starts no program for a kind that is not in the list.
print_resources() {
	case $newline$all in
	*"$newline$1 "*) say "$all" | sed -n "s/^$1 //p" ;;
	esac
}
run_on_lines() { tr '\n' '\0' | xargs -0 -r "$@"; }
allow_status() { # ORDINARY COMMAND...: passes on exit statuses that are not in ORDINARY
	ordinary=$1
	shift
	"$@" || {
		code=$?
		[ "$code" -eq "$ordinary" ] || return "$code"
	}
}

# On a host without documents and without a record there is nothing to probe.
if [ -z "$wanted" ] && [ ! -e "$record" ] && [ ! -L "$record" ]; then
	say '== none'
	exit 0
fi

# The record lists its resources, one JSON string a line (see Encode in record.go).
# While the other backslashes are removed, a newline stands for an escaped backslash.
applied=
if [ -e "$record" ] || [ -L "$record" ]; then applied=$(head -c "$maxrecord" -- "$record"); fi
if [ "${#applied}" -ge "$maxrecord" ]; then
	say "$record has more than $((maxrecord / 1048576)) MiB; put back a copy of it" >&2
	exit 1
fi
print_recorded() {
	say "$applied" | sed -n '/^"about":\[$/,/^\],$/{
		s/^"\(.*\)",\{0,1\}$/\1/
		t string
		d
		:string
		s/\\\\/\
/g
		s/\\"/"/g
		s/\n/\\/g
		p
	}'
}
all=$({
	[ -z "$wanted" ] || say "$wanted"
	print_recorded
} | sort -u)
say '== asked'
say "$all" | sha256sum

# The presets that Ignition has written at the installation come before those of the OS.
registries=/etc/containers/registries.conf
presets=/etc/systemd/system-preset/20-ignition.preset
case $newline$all in
*"${newline}unit "*) all="$all${newline}path $presets" ;;
esac

# stat reports missing paths as errors, which are dropped. Its other errors are
# diagnostics.
say '== nodes'
nodes=$({
	say "$all" | sed -n 's/^path /./p' |
		run_on_lines stat --printf='%f\t%s\t%u\t%g\t%d:%i\t%U\t%G\t%n\n' -- 2>&1 >&3 3>&- |
		sed -e '/: No such file or directory$/d' -e '/: Not a directory$/d' >&2
} 3>&1)
say "$nodes"
say '== digests'
graded=$(say "$nodes" | sed -n "s/^8[^$tab]*${tab}[0-9]\{1,8\}$tab.*$tab//p" | grade_paths)
even=$(say "$graded" | sed -n 's/^=//p')
say "$graded" | print_digests
say '== targets'
case $newline$nodes in
*"${newline}a"*) say "$nodes" | sed -n "s/^a.*$tab//p" | tr '\n' '\0' | print_targets ;;
esac

# The probe also reads parent directories, and the links of the OS (see enter_dir in
# ground.sh), which tell what else leads to these directories. Reading is cheap: one
# process reads all.
dirs=$(say "$all" | sed -n 's/^path //p' | sed -n ':up
s,/[^/]*$,,
t above
d
:above
/./!d
p
b up' | sort -u | sed 's/^/./')
links=$(
	set +f
	for link in ./* ./usr/local; do
		case $link in
		*[!A-Za-z0-9._/-]*) ;;
		*) [ ! -L "$link" ] || say "$link" ;;
		esac
	done
)
say '== parents'
say "root$tab$uid"
say "$dirs$newline$links" | sed '/./!d' | sort -u | run_on_lines stat --printf='%f\t%u\t%n\t%N\0' -- 2>/dev/null | tr '\n\000' '\001\n' | sed "s/^\(4[^$tab]*${tab}[^$tab]*${tab}[^$tab]*\)$tab.*/\1/"
say '== readonly'
[ "$uid" != 0 ] || for dir in . $dirs; do
	if [ -d "$dir" ] && [ ! -w "$dir" ]; then say "$dir"; fi
done
say '== fleeting'
case $(stat -f -c %T -- "${originals%/*/*}" 2>/dev/null || :) in
tmpfs | ramfs) ;;
*) say "$dirs" | run_on_lines stat -f -c "%T$tab%n" -- 2>/dev/null | sed -n -e "s/^tmpfs$tab//p" -e "s/^ramfs$tab//p" ;;
esac

# show_file KIND PATH FILE prints the contents of a regular file, at most limit bytes. If
# others than root can swap the file, show_file prints an archive: its header has the owner
# of exactly these contents.
show_file() {
	if [ ! -f "$3" ] || [ -L "$3" ]; then return 0; fi
	case $1:$newline$even$newline in
	base:* | *"$newline$3$newline"*) ;;
	*)
		(
			enter_dir "${2%/*}" || exit 0
			if is_root_only "${cwd#"$root"}"; then
				say "$1$tab$2$tab$(head -c "$limit" -- "./${2##*/}" | base64 -w0)"
				exit
			fi
			say "archive$tab$2$tab$(timeout -k 1 20 tar -cf - --no-recursion -- "./${2##*/}" 2>/dev/null | head -c "$((limit + 8192))" | base64 -w0)"
		)
		return
		;;
	esac
	say "$1$tab$2$tab$(head -c "$limit" -- "$3" | base64 -w0)"
}
say '== contents'
for path in "$registries" "$presets"; do
	case $newline$all$newline in
	*"${newline}path $path$newline"*) show_file contents "$path" ".$path" ;;
	esac
done
print_resources inherit | while IFS= read -r file; do
	path=${file%//*}
	name=${file##*//}
	case $path in
	"$registries" | "$presets") ;;
	*) show_file contents "$path" ".$path" ;;
	esac
	if [ -e "$originals/$name" ]; then
		show_file base "$path" "$originals/$name"
	elif [ -e "$originals/$name.default" ]; then
		case $path in
		/etc/*) show_file base "$path" "./usr$path" ;;
		esac
	fi
done
say '== originals'
if [ -d "$originals" ]; then ls -A -- "$originals"; fi

# Before version 253, systemctl stops without output at a unit that it does not find.
# Then the script queries each unit alone.
say '== units'
units=$(print_resources unit)
states=
if [ -n "$units" ]; then
	# shellcheck disable=SC2086 # names are words
	states=$(systemctl is-enabled -- $units 2>/dev/null) || :
	if [ -z "$states" ] || [ "$(say "$units" | wc -l)" != "$(say "$states" | wc -l)" ]; then
		states=$(for unit in $units; do
			state=$(systemctl is-enabled -- "$unit" 2>&1) || :
			case $state in
			*'No such file or directory' | *'does not exist') say not-found ;;
			*) say "${state##*"$newline"}" ;;
			esac
		done)
	fi
fi
say "$units"
say '== states'
say "$states"

# The hash of a password stays on the host. The script prints only its digest.
say '== passwd'
users=$(print_resources user)
others=$(print_resources owner)
passwd=
# shellcheck disable=SC2086 # names are words
if [ -n "$users$others" ]; then allow_status 2 getent passwd -- $users $others; fi
say '== group'
groups=$(print_resources group)
# shellcheck disable=SC2086 # names are words
if [ -n "$groups" ]; then allow_status 2 getent group -- $groups; fi
say '== keys'
keys=.ssh/authorized_keys
if [ -n "$users" ]; then
	case $(sshd -T 2>/dev/null || :) in
	*authorized_keys.d* | *ssh-key-dir*)
		keys=.ssh/authorized_keys.d/ignition
		say directory
		;;
	esac
	# shellcheck disable=SC2086 # names are words
	passwd=$(allow_status 2 getent passwd -- $users)
fi

# is_leaving reports whether a user leaves the configuration.
is_leaving() {
	case $newline$wanted$newline in
	*"${newline}user $1$newline"*) return 1 ;;
	esac
}
# count_sessions counts the sessions of a user.
count_sessions() {
	loginctl list-sessions --no-legend --no-pager 2>/dev/null | sed "s/^ *//; s/  */$tab/g" | cut -f 3 | grep -cxF -- "$1" || :
}
# count_other_keys counts SSH keys in a home that holdfast does not manage.
# shellcheck disable=SC2012 # a name with a line break is two that are not there
count_other_keys() {
	for file in authorized_keys authorized_keys2 $(follow_path "$1/.ssh/authorized_keys.d/." && ls -A | head -n 100 | sed 's,^,authorized_keys.d/,'); do
		[ "$file" != authorized_keys.d/ignition ] || continue
		(
			follow_path "$1/.ssh/$file" || exit 0
			if [ ! -f "./$name" ] || [ -L "./$name" ]; then exit 0; fi
			timeout -k 1 20 dd if="./$name" bs="$limit" count=1 iflag=nofollow,nonblock,fullblock status=none || :
			echo
		)
	done | sed '/^# BEGIN holdfast$/,/^# END holdfast$/d' | grep -c '^[^#[:space:]]' || :
}
say '== logins'
connects=${SUDO_USER:-root}
home=$(getent passwd -- "$connects" | cut -d: -f6) || home=
say "home$tab$connects$tab$home"
busy=
if [ -n "$passwd" ]; then busy=$(cd "$root/proc" 2>/dev/null && set +f && stat -c %u -- [0-9]* 2>/dev/null | sort -u) || :; fi
say "$passwd" | while IFS=: read -r user _ number _ _ home _; do
	[ -n "$user" ] || continue
	case $newline$busy$newline in
	*"$newline$number$newline"*) say "busy$tab$user$tab" ;;
	esac
	say "groups$tab$user$tab$(id -Gn -- "$user")"
	getent shadow -- "$user" | while IFS=: read -r _ hash _ _ _ _ _ expires _; do
		printf 'password\t%s\t%s\n' "$user" "$(printf %s "$hash" | sha256sum)"
		[ -z "$expires" ] || say "expires$tab$user$tab$expires"
	done
	if [ "$user" = "$connects" ]; then say "connects$tab$user$tab"; fi
	if [ "$user" = "$connects" ] || is_leaving "$user"; then
		case $home in
		/*) say "otherkeys$tab$user$tab$(count_other_keys "$home")" ;;
		esac
		say "sessions$tab$user$tab$(count_sessions "$user")"
	fi
	case $home in
	/*) ;;
	*) continue ;;
	esac
	(
		code=0
		follow_path "$home/$keys" || code=$?
		if [ "$code" = 2 ]; then say "the SSH keys of $user are behind a symbolic link in $home, which $user could lead anywhere; let it be a directory" >&2; fi
		if [ "$code" != 0 ] || [ ! -f "./$name" ] || [ -L "./$name" ]; then exit 0; fi
		text=$(timeout -k 1 20 dd if="./$name" bs="$limit" count=1 iflag=nofollow,nonblock,fullblock status=none | if [ "$keys" = .ssh/authorized_keys ]; then
			sed -n '/^# BEGIN holdfast$/,/^# END holdfast$/p'
		else
			cat
		fi | base64 -w0)
		say "keys$tab$user$tab$text"
	)
done
say '== record'
if [ -n "$applied" ]; then say "$applied" | sed '/^"about":\[$/,/^\],$/d'; elif [ -e "$record" ]; then say empty; fi
say '== end'
