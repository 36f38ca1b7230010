found() { [ -e "$1" ] || [ -L "$1" ]; }

# The script calls the functions below for each entry of the list of edits. See
# listedEdit.shellCall in pathlist.go for their variables.

# place reports paths that cannot be written to as they are.
place() {
	code=0
	enter "$dir" || code=$?
	case $code in
	1) return ;; # the missing parent is an entry of its own
	2)
		case $told in
		*"|$about|"*) ;;
		*) problem "$about: $link is a symbolic link to $(readlink "$root$link"); write the path it leads to" ;;
		esac
		told="$told|$about|"
		return
		;;
	esac
	if [ "$kind" = parent ]; then
		if [ -d "./$name" ] || ! found "./$name"; then return; fi
		[ ! -L "./$name" ] || problem "$about: $path is a symbolic link to $(readlink "./$name"), where there is nothing; write another path"
		[ -L "./$name" ] || problem "$about: $path is not a directory"
		told="$told|$about|"
		return
	fi
	if [ "$kind" = hard ] && [ -z "$targetcomes" ]; then
		code=0
		enter "$targetdir" || code=$?
		if [ "$code" != 0 ] || [ ! -f "./$targetname" ] || [ -L "./$targetname" ]; then
			problem "$path: its target $targetdir/$targetname is not a file"
		fi
		enter "$dir"
	fi
	found "./$name" || return 0
	case $was:$kind in
	file:directory | link:directory | directory:file | directory:link | other:*)
		is=${was#other}
		problem "$path: it is ${is:-no file, directory or link} where a $kind is to be; move it out of the way"
		;;
	directory:*) ;;
	*)
		case $mounts in
		*" $path "*)
			problem "$path: something is mounted on it"
			return
			;;
		esac
		if [ "$uid" = 0 ] && [ ! -L "./$name" ] && [ ! -w "./$name" ]; then
			problem "$path: it cannot be replaced: it is immutable (lsattr shows i), or its file system is read-only"
		fi
		;;
	esac
}

# differs reports which property of the path differs from the plan.
differs() {
	[ "$kind" != parent ] || return 0
	how=
	now=
	if enter "$dir"; then now=$(stat -c '%f %u %g' -- "./$name" 2>/dev/null) || now=; fi
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
		[ "$(digest "$name")" = "$wasdata" ] || how='its contents changed'
	elif [ -z "$how" ] && [ "$was" = link ]; then
		[ "$(readlink "./$name")" = "$wasdata" ] || how='its target changed'
	fi
	[ -z "$how" ] || problem "$path is not as it was when this was planned ($how)"
}
