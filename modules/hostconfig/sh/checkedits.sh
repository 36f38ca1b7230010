report_problem() {
	complain "write: $*"
	wrong=yes
}
stop_if_wrong() { [ -z "$wrong" ] || exit "$1"; }
path_exists() { [ -e "$1" ] || [ -L "$1" ]; }

# for_each_edit calls a function for each edit, with these variables of an edit: n (its number),
# kind (file, directory, link, hard; parent: a directory that is made if it is missing; gone:
# the path is removed, or its original returns), about (path that messages name), path, dir
# and name (its parts), fresh (name of the new entry in the room), source (uploaded file),
# data (target of a link), targetdir and targetname (of a hard link), targetcomes (yes: the
# write has that target), mode, owner (USER:GROUP), late (yes: the write creates the
# owner, or changes its ID),
# inherits (yes: the file keeps owner and mode), was (none, file, directory, link or other),
# wasstat, wasmode, wasdata (its digest or target), inode (of the planned directory), save
# (yes: the file becomes the original), restore (yes: its original returns) and orig (name
# of its original).

unlist='it has an access control list (ACL), so that its mode does not say who may use it; remove the list (setfacl -b -k)'

# check_place reports paths that cannot be written to as they are.
check_place() {
	code=0
	enter_dir "$dir" || code=$?
	case $code in
	1) return ;; # the missing parent is an entry of its own
	2)
		case $told in
		*"|$about|"*) ;;
		*) report_problem "$about: $link is a symbolic link to $(readlink "$root$link"); write the path it leads to" ;;
		esac
		told="$told|$about|"
		return
		;;
	esac
	if [ "$kind" = parent ]; then
		if [ -d "./$name" ] || ! path_exists "./$name"; then return; fi
		[ ! -L "./$name" ] || report_problem "$about: $path is a symbolic link to $(readlink "./$name"), where there is nothing; write another path"
		[ -L "./$name" ] || report_problem "$about: $path is not a directory"
		told="$told|$about|"
		return
	fi
	if [ "$kind" = hard ] && [ -z "$targetcomes" ]; then
		code=0
		enter_dir "$targetdir" || code=$?
		if [ "$code" != 0 ] || [ ! -f "./$targetname" ] || [ -L "./$targetname" ]; then
			report_problem "$path: its target $targetdir/$targetname is not a file"
		fi
		enter_dir "$dir"
	fi
	path_exists "./$name" || return 0
	case $was:$kind in
	file:directory | link:directory | directory:file | directory:link | other:*)
		is=${was#other}
		report_problem "$path: it is ${is:-no file, directory or link} where a $kind is to be; move it out of the way"
		;;
	directory:*)
		if enter_dir "$path" && is_foreign_dir && has_acl .; then report_problem "$path: $unlist"; fi
		;;
	*)
		case $mounts in
		*" $path "*)
			report_problem "$path: something is mounted on it"
			return
			;;
		esac
		if [ "$uid" = 0 ] && [ ! -L "./$name" ] && [ ! -w "./$name" ]; then
			report_problem "$path: it cannot be replaced: it is immutable (lsattr shows i), or its file system is read-only"
		fi
		;;
	esac
}

# report_difference reports which property of the path differs from the plan.
report_difference() {
	[ "$kind" != parent ] || return 0
	how=
	now=
	if enter_dir "$dir"; then now=$(stat -c '%f %u %g' -- "./$name" 2>/dev/null) || now=; fi
	if [ "$was" = none ]; then
		[ -z "$now" ] || how='it is there now'
	elif [ -z "$now" ]; then
		how='it is gone'
	elif [ "$now" != "$wasstat" ]; then
		how='its mode or owner changed'
		type=${now%% *}
		wastype=${wasstat%% *}
		[ "${type%???}" = "${wastype%???}" ] || how='it is of another kind'
		if [ "$was" = link ]; then [ "${now#* }" != "${wasstat#* }" ] || how=; fi
	fi
	if [ -z "$how" ] && [ "$was" = file ]; then
		[ "$(print_digest "$name")" = "$wasdata" ] || how='its contents changed'
	elif [ -z "$how" ] && [ "$was" = link ]; then
		[ "$(readlink "./$name")" = "$wasdata" ] || how='its target changed'
	fi
	[ -z "$how" ] || report_problem "$path is not as it was when this was planned ($how)"
}

# check_edits ends the script if the host is not as planned. One comparison covers all
# entries. If it fails, each entry is compared, to name the difference.
check_edits() {
	for_each_edit check_place
	stop_if_wrong 1
	for_each_edit check_absent
	if [ -n "$appeared" ] || [ "$(print_stats 2>/dev/null)" != "$statistics" ] || [ "$(print_file_digests 2>/dev/null)" != "$digests" ] || [ "$(print_link_targets 2>/dev/null)" != "$targets" ]; then
		for_each_edit report_difference
		stop_if_wrong 76
	fi
	for_each_edit check_owner
	stop_if_wrong 1
}
print_stats() { for_each_edit print_present | xargs -0 -r stat --printf '%f %u %g\n' --; }
print_file_digests() { (cd "$root/." && for_each_edit print_file | grade_paths | print_digests) | sort; }
print_link_targets() { for_each_edit print_link | xargs -0 -r readlink -z -- | tr '\0' '\n'; }

# print_present prints a path that the host should have, print_file and print_link one of
# this kind.
print_present() {
	case $was in
	file | directory | link) printf '%s\0' "$root$path" ;;
	esac
}
print_file() { [ "$was" != file ] || printf '.%s\n' "$path"; }
print_link() { [ "$was" != link ] || printf '%s\0' "$root$path"; }

# check_absent sets appeared if a path exists that the host should not have.
check_absent() {
	case $kind:$was in
	parent:*) ;;
	*:none) ! path_exists "$root$path" || appeared=yes ;;
	esac
}

# check_owner reports a user or a group that the host does not have, unless the write
# creates or changes it.
check_owner() {
	case $kind:$late in
	file: | directory: | link:) ;;
	*) return 0 ;;
	esac
	check_account passwd user "${owner%:*}"
	check_account group group "${owner#*:}"
}

# check_account DATABASE KIND NAME reports an account once. A name of digits is an ID.
check_account() {
	case $3 in
	*[!0-9]*) ;;
	*) return 0 ;;
	esac
	case $told in
	*"|$2 $3|"*) return 0 ;;
	esac
	told="$told|$2 $3|"
	getent "$1" -- "$3" >/dev/null || report_problem "$path: there is no $2 $3"
}
