# Paths of the host, on hostile ground: a local account may own a file or any directory
# of its path, and swap files between any two system calls. So a script enters a
# directory, checks that it is the right one, and then uses only names in the current
# directory. These stay right even if the path leads elsewhere by then. See "Hostile
# ground" in engine/DESIGN.md.
#
# It needs: root (prefix of all paths of configurations; empty on hosts). Its functions
# set: entered (the directory that enter_dir has entered last; a caller that goes elsewhere
# empties it), cwd (the path of the current directory), link (where enter_dir has stopped),
# goal (the target of a link of the OS), name (the last part of a path that was followed)
# and output (why access control lists stay).
uid=$(stat -c %u "$root/.")
lf='
'
entered=''

# enter_dir DIR enters a directory. It follows no links, except links of the OS: those
# directly in /, and /usr/local. It returns 1 if the directory does not exist, and 2 if
# another link is in the path ($link).
enter_dir() {
	[ "$entered" != "in $1" ] || return 0
	entered=
	cd -P "$root$1/." 2>/dev/null || return 1
	find_cwd
	top=
	if [ "$cwd" = "$root$1" ] || is_os_link "$1"; then
		entered="in $1"
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

# find_cwd sets cwd to the path of the current directory. It asks the kernel, because
# some shells only remember the path that they used.
find_cwd() {
	cwd=$(readlink -n /proc/self/cwd && echo .) || cwd=
	cwd=${cwd%.}
	[ "$cwd" != / ] || cwd=
}

# is_os_link reports whether a link of the OS leads from DIR to $cwd.
is_os_link() {
	top=${1#/}
	top=/${top%%/*}
	case $1/ in
	/usr/local/*) top=/usr/local ;;
	esac
	if [ -L "$root$top" ] && [ "$(stat -c %u "$root$top")" = "$(stat -c %u "$root/.")" ]; then
		read_os_link "$top"
		[ "$cwd" = "$root$goal${1#"$top"}" ] && is_root_only "$goal"
		return
	fi
	top=
	return 1
}

# read_os_link sets goal to the path that a link of the OS contains.
read_os_link() {
	goal=$(readlink "$root$1")
	case $1:$goal in
	*:/*) ;;
	/usr/local:../*) goal=/${goal#../} ;;
	/usr/local:*) goal=/usr/$goal ;;
	*) goal=/${goal#../} ;;
	esac
}

# is_root_only reports whether only root can change a directory and all its parents. If so,
# nobody else can change where a path below leads.
is_root_only() {
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

# has_acl reports whether a path has an access control list (ACL), or passes one on to what
# is made in it.
has_acl() {
	case $(ls -ld -- "$1") in
	??????????+*) ;;
	*) return 1 ;;
	esac
}

# remove_acls EMPTY removes the access control lists that the current directory has inherited.
# An account may have chosen them, files inherit them in turn, and a mode would then not
# be the whole access. Hosts may lack setfacl, so tar or cp copies the absence of lists
# from an empty directory of mode 0700: cp of coreutils 9.7 leaves them, and some builds of
# tar know no lists. It fails if a list stays ($output).
remove_acls() {
	! has_acl . || { tar -C "$1" -cf - . | tar --acls --numeric-owner -xpf -; } >/dev/null 2>&1 || :
	! has_acl . || output=$(cp -r --preserve=mode -- "$1/." . 2>&1) || return
	output='new files here inherit an access control list (ACL) that neither tar nor cp can remove; remove it (setfacl -k) from the directory'
	! has_acl .
}

# grade_paths reads paths of the host, ./PATH, one a line, and prints those that exist. It
# prints =./PATH if only root can change or swap the path, so that a script may use it
# as a path. Otherwise it prints !./PATH. A path that was missing for a moment may be
# in neither list: only = means that a path is safe. grade_paths must run in the root
# directory of the host.
grade_paths() (
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
			read_os_link "${top#.}"
			if is_root_only "$goal"; then links="$links$lf$top$lf"; fi
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

# print_digest prints the digest of ./NAME in the current directory, if this is a regular
# file. It follows no link, and does not wait for a pipe.
print_digest() {
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

# print_digests reads the output of grade_paths, and prints "DIGEST  ./PATH" of readable files. It
# reads all files that are safe as paths in one process.
print_digests() {
	graded=$(cat)
	printf '%s\n' "$graded" | sed -n 's/^=//p' | tr '\n' '\0' | xargs -0 -r sha256sum -z -- | tr '\0' '\n'
	printf '%s\n' "$graded" | sed -n 's/^!\.//p' | while IFS= read -r file; do
		enter_dir "${file%/*}" 2>/dev/null || continue
		sum=$(print_digest "${file##*/}" </dev/null) || continue
		printf '%s  .%s\n' "$sum" "$file"
	done
}

# follow_path PATH enters the directory of a path, and sets name to the last part of the
# path. It follows only links that nobody but root can have created. It returns 1 if
# the directory does not exist, and 2 if another link is in the path.
follow_path() {
	entered=
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
	find_cwd
	[ "$cwd" = "$root$at" ] || return 2
}
