# Paths of the host, on hostile ground: a local account may own a file or any directory
# of its path, and swap files between any two system calls. So a script enters a
# directory, checks that it is the right one, and then uses only names in the current
# directory. These stay right even if the path leads elsewhere by then. See "Hostile
# ground" in engine/DESIGN.md.
#
# It needs: root (prefix of all paths of configurations; empty on hosts).
uid=$(stat -c %u "$root/.")
lf='
'
spot='' # the directory that enter has entered last

# enter DIR enters a directory. It follows no links, except links of the OS: those
# directly in /, and /usr/local. It returns 1 if the directory does not exist, and 2 if
# another link is in the path ($link).
enter() {
	[ "$spot" != "in $1" ] || return 0
	spot=
	cd -P "$root$1/." 2>/dev/null || return 1
	locate
	top=
	if [ "$here" = "$root$1" ] || shortcut "$1"; then
		spot="in $1"
		return 0
	fi
	link=
	rest=${1#/}/
	while [ -n "$rest" ]; do
		link=$link/${rest%%/*}
		rest=${rest#*/}
		if [ -L "$root$link" ] && [ "$link" != "$top" ]; then break; fi
	done
	return 2
}

# locate sets here to the path of the current directory. It asks the kernel, because
# some shells only remember the path that they used.
locate() {
	here=$(readlink -n /proc/self/cwd && echo .) || here=
	here=${here%.}
	[ "$here" != / ] || here=
}

# shortcut reports whether a link of the OS leads from DIR to $here.
shortcut() {
	top=${1#/}
	top=/${top%%/*}
	case $1/ in
	/usr/local/*) top=/usr/local ;;
	esac
	if [ -L "$root$top" ] && [ "$(stat -c %u "$root$top")" = "$(stat -c %u "$root/.")" ]; then
		target "$top"
		[ "$here" = "$root$goal${1#"$top"}" ] && firm "$goal"
		return
	fi
	top=
	return 1
}

# target sets goal to the path that a link of the OS contains.
target() {
	goal=$(readlink "$root$1")
	case $1:$goal in
	*:/*) ;;
	/usr/local:../*) goal=/${goal#../} ;;
	/usr/local:*) goal=/usr/$goal ;;
	*) goal=/${goal#../} ;;
	esac
}

# firm reports whether only root can change a directory and all its parents. If so,
# nobody else can change where a path below leads.
firm() {
	chain=$root/.
	walked=
	ahead=${1#/}/
	while [ -n "$ahead" ]; do
		walked=$walked/${ahead%%/*}
		ahead=${ahead#*/}
		chain=$chain$lf$root$walked
	done
	weak=$(printf %s "$chain" | tr '\n' '\0' | xargs -0 stat -c '%f %u' -- 2>&1 | sed "/^4.[02468ace][014589cd] $uid\$/d")
	[ -z "$weak" ]
}

# grade reads paths of the host, ./PATH, one a line, and prints those that exist. It
# prints =./PATH if only root can change or swap the path, so that a script may use it
# as a path. Otherwise it prints !./PATH. A path that was missing for a moment may be
# in neither list: only = means that a path is safe. grade must run in the root
# directory of the host.
grade() (
	IFS=$lf
	set -f
	paths=$(cat)
	[ -n "$paths" ] || exit 0
	above=$(printf '%s\n' "$paths" | sed -n ':up
		s,/[^/]*$,,p
		t up' | sort -u)
	# A link of the OS is as safe as its target.
	links=
	for top in $above; do
		case $top in
		./usr/local) ;;
		. | ./*/*) continue ;;
		esac
		if [ -L "$top" ]; then
			target "${top#.}"
			if firm "$goal"; then links="$links$lf$top$lf"; fi
		fi
	done
	weak=$(printf '%s\n' "$above" | tr '\n' '\0' | xargs -0 stat -c '%f %u %n' -- 2>/dev/null |
		sed "/^4.[02468ace][014589cd] $uid /d; s/^[^ ]* [^ ]* //") || :
	rules='' last=''
	for dir in $weak; do
		case $links in
		*"$lf$dir$lf"*) continue ;;
		esac
		case $dir in
		"${last:-/}"/*) continue ;;
		esac
		last=$dir
		rules="$rules/^$(printf %s "$dir" | sed 's/[].[*^$\/]/\\&/g')\\//{s/^/!/;b$lf}$lf"
	done
	printf '%s\n' "$paths" | tr '\n' '\0' | xargs -0 stat -c '%f %u %n' -- 2>/dev/null | sed "/^8/{
		/^8.[02468ace][014589cd] $uid /!{
			s/^[^ ]* [^ ]* /!/
			b
		}
	}
	s/^[^ ]* [^ ]* //
	$rules
	s/^/=/" || :
)

# large is more than the size, in bytes, of any file of a configuration.
large=100000000

# digest prints the digest of ./NAME in the current directory, if this is a regular
# file. It follows no link, and does not wait for a pipe.
digest() {
	{
		code=$({
			{
				timeout -k 1 60 dd if="./$1" bs=65536 count=$((large / 65536 + 1)) iflag=nofollow,nonblock,fullblock status=none 2>/dev/null
				echo $? >&3
			} | sha256sum | cut -c1-64 >&4
		} 3>&1)
	} 4>&1
	[ "$code" = 0 ]
}

# digests reads the output of grade, and prints "DIGEST  ./PATH" of readable files. It
# reads all files that are safe as paths in one process.
digests() {
	graded=$(cat)
	printf '%s\n' "$graded" | sed -n 's/^=//p' | tr '\n' '\0' | xargs -0 -r sha256sum -z -- | tr '\0' '\n'
	printf '%s\n' "$graded" | sed -n 's/^!\.//p' | while IFS= read -r file; do
		enter "${file%/*}" 2>/dev/null || continue
		sum=$(digest "${file##*/}" </dev/null) || continue
		printf '%s  .%s\n' "$sum" "$file"
	done
}

# follow PATH enters the directory of a path, and sets name to the last part of the
# path. It follows only links that nobody but root can have created. It returns 1 if
# the directory does not exist, and 2 if another link is in the path.
follow() {
	spot=
	cd -P "$root/." || return 1
	at='' rest=$1 hops=0 alone=yes
	while :; do
		rest=${rest#"${rest%%[!/]*}"}
		name=${rest%%/*}
		rest=${rest#"$name"}
		case $name in
		'')
			name=.
			break
			;;
		.) continue ;;
		..)
			cd -P .. || return 1
			at=${at%/*}
			continue
			;;
		esac
		case $alone:$(stat -c '%f %u' .) in
		yes:4?[02468ace][014589cd]" $uid") ;;
		*) alone= ;;
		esac
		if [ -n "$alone" ] && [ -L "./$name" ] && [ "$hops" -lt 20 ]; then
			hops=$((hops + 1))
			rest=$(readlink "./$name")$rest
			case $rest in
			/*)
				cd -P "$root/." || return 1
				at=
				;;
			esac
			continue
		fi
		[ -n "${rest#"${rest%%[!/]*}"}" ] || break
		cd -P "./$name/." 2>/dev/null || return 1
		at=$at/$name
	done
	locate
	[ "$here" = "$root$at" ] || return 2
}
