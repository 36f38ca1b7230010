# Paths of the host, on hostile ground: a local account may own a directory, a parent or
# a file, and swap files between any two system calls. So a script enters a directory,
# checks where it is, and from then on uses names in it, even if its path leads
# elsewhere by then. See "Hostile ground" in engine/DESIGN.md.
#
# It needs: root (prefix of all paths of configurations; empty on hosts).
uid=$(stat -c %u "$root/.")
lf='
'
spot='' # where enter went last

# enter DIR enters a directory without following links in its path, except links of the
# OS directly in / or as /usr/local. It returns 1 if the directory does not exist, and 2
# if a link leads elsewhere ($link).
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

# locate sets here to the path of the current directory. It asks the kernel: some shells
# only remember the path that they used.
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
		[ "$here" = "$root$base${1#"$top"}" ] && firm "$base"
		return
	fi
	top=
	return 1
}

# target sets base to the path in the text of a link of the OS.
target() {
	base=$(readlink "$root$1")
	case $1:$base in
	*:/*) ;;
	/usr/local:../*) base=/${base#../} ;;
	/usr/local:*) base=/usr/$base ;;
	*) base=/${base#../} ;;
	esac
}

# firm reports whether only root can change a directory and all its parents, so that
# nobody else can swap the meaning of a path below.
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

# grade reads paths of the host, ./PATH, one a line, and prints those that exist:
# =./PATH if only root can change or swap it, so that a script may read it by path;
# otherwise !./PATH. A path that was missing for a moment is in neither list: only =
# means that a path is safe. grade must run in the root of the host.
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
			if firm "$base"; then links="$links$lf$top$lf"; fi
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

# large exceeds the size in bytes of any file of a configuration.
large=100000000

# digest prints the digest of a file ./NAME in the current directory, if it is a regular
# file: it follows no link and waits for no pipe.
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

# digests reads lines of grade, and prints "DIGEST  ./PATH" of readable files. It reads
# all files that are safe to read by path in one process.
digests() {
	graded=$(cat)
	printf '%s\n' "$graded" | sed -n 's/^=//p' | tr '\n' '\0' | xargs -0 -r sha256sum -z -- | tr '\0' '\n'
	printf '%s\n' "$graded" | sed -n 's/^!\.//p' | while IFS= read -r file; do
		enter "${file%/*}" 2>/dev/null || continue
		sum=$(digest "${file##*/}" </dev/null) || continue
		printf '%s  .%s\n' "$sum" "$file"
	done
}

# follow PATH enters the directory of a path, and sets name to the rest of it. It
# follows links that only root can have created. It returns 1 if the directory does not
# exist, and 2 if another link is in the path.
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
