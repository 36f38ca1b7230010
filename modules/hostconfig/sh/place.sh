path_exists() { [ -e "$1" ] || [ -L "$1" ]; }

# for_each_edit calls the functions below, with these variables of an edit: n (its number),
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
