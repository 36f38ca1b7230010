# Lists for for_each_edit: each function prints the current edit if it is in the list. place.sh
# has the variables of an edit.

# print_present prints paths that the host should have, print_file and print_link those of
# one kind, and print_replaced those that the write replaces or removes.
print_present() {
	case $was in
	file | directory | link) printf '%s\0' "$root$path" ;;
	esac
}
print_file() { [ "$was" != file ] || printf '.%s\n' "$path"; }
print_link() { [ "$was" != link ] || printf '%s\0' "$root$path"; }
print_replaced() {
	case $was in
	file | link) printf '.%s\n' "$path" ;;
	esac
}

# print_saved prints files that the write saves as originals.
print_saved() { [ "$save:$was" != yes:file ] || printf '.%s\0' "$path"; }
print_path() { printf '%s\0' "$path"; }

# print_parents prints the directories that may get a room.
print_parents() {
	printf '%s\n' "$dir"
	[ "$kind" != hard ] || printf '%s\n' "$targetdir"
}

# print_directories prints the directories whose entries the write may change.
print_directories() {
	[ ! -d "$root$dir/" ] || printf '%s/\0' "$root$dir"
	[ "$kind" != directory ] || [ ! -d "$root$path/" ] || printf '%s/\0' "$root$path"
}

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

# print_source prints the uploaded file, the mode and the owner of a new file. An owner that
# the write creates or changes is set later.
print_source() {
	case $kind:$late in
	file:) printf '%s\n' "$source $mode $owner" ;;
	file:*) printf '%s\n' "$source $mode $me" ;;
	esac
}

# set_sources gives the uploaded files their owners and modes, many files with one process.
# DIGEST-N is a copy of DIGEST with another owner or mode. A change of the owner clears
# setuid bits, so modes come last.
set_sources() (
	cd "$tx/new" || exit
	list=$(for_each_edit print_source | sort -u)
	[ -n "$list" ] || exit 0
	printf '%s\n' "$list" | while read -r source _; do
		case $source in
		*-*) cp "${source%-*}" "$source" || exit ;;
		esac
	done || exit
	printf '%s\n' "$list" | cut -d ' ' -f 3 | sort -u | while read -r value; do
		[ "$value" = "$me" ] || print_sources "$value" | xargs chown "$value" || exit
	done || exit
	printf '%s\n' "$list" | cut -d ' ' -f 2 | sort -u | while read -r value; do
		print_sources "$value" | xargs chmod "$value" || exit
	done
)

# print_sources VALUE prints the sources with a mode or an owner.
print_sources() {
	printf '%s\n' "$list" | while read -r source mode owner; do
		case $1 in
		"$mode" | "$owner") printf '%s\n' "$source" ;;
		esac
	done
}
