# attempt runs a command that may fail, and keeps its output in $output.
attempt() { output=$("$@" 2>&1); }

# refuse ends the script because of an error with the current entry.
refuse() {
	complain "$doing: $about: $*"
	is_disk_full "$*" && exit 77
	exit 1
}

# prepare_edits creates all new entries in rooms, and changes no entry of the host except
# for directories that it makes.
prepare_edits() {
	about="$tx/rooms"
	name_room
	output=$(record_rooms 2>&1) || refuse "$output"
	graded=$(cd "$root/." && for_each_edit print_replaced | grade_paths)
	even=$(printf '%s\n' "$graded" | sed -n 's/^=//p')
	if selinuxenabled 2>/dev/null; then
		for_each_edit print_path | xargs -0 -r matchpathcon -n >"$tx/contexts"
		contexts=yes
		exec 7<"$tx/contexts"
	fi
	about='contents of files'
	output=$(set_sources 2>&1) || refuse "$output"
	for_each_edit prepare_entry
	[ -z "$hasrests" ] || for_each_edit copy_original_attributes
	about='new files'
	sync_rooms
}

# name_room chooses the name and the token.
name_room() {
	# shellcheck disable=SC2046 # each byte is a word
	set -- $(od -An -v -N 32 -tx1 /dev/urandom)
	while [ $# -gt 16 ]; do
		room=$room$1
		shift
	done
	room=.holdfast-$room
	while [ $# -gt 0 ]; do
		token=$token$1
		shift
	done
}

# record_rooms writes name and token to disk before any room exists, so that a later run
# can clean up.
record_rooms() {
	mkdir -m 0700 "$tx/plain"
	{
		printf '%s\n' "$room" "$token"
		{
			for_each_edit print_parents
			[ -z "$hasaccounts$hasunits$haskeys" ] || echo /etc
		} | sort -u
	} >"$tx/rooms"
	sync "$tx/rooms" "$tx" "$state/tx" "$state"
}

# print_parents prints the directories that may get a room.
print_parents() {
	printf '%s\n' "$dir"
	[ "$kind" != hard ] || printf '%s\n' "$targetdir"
}

# print_replaced prints a path that the write replaces or removes.
print_replaced() {
	case $was in
	file | link) printf '.%s\n' "$path" ;;
	esac
}
print_path() { printf '%s\0' "$path"; }

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

# print_source prints the uploaded file, the mode and the owner of a new file. An owner that
# the write creates or changes is set later.
print_source() {
	case $kind:$late in
	file:) printf '%s\n' "$source $mode $owner" ;;
	file:*) printf '%s\n' "$source $mode $me" ;;
	esac
}

# print_sources VALUE prints the sources with a mode or an owner.
print_sources() {
	printf '%s\n' "$list" | while read -r source mode owner; do
		case $1 in
		"$mode" | "$owner") printf '%s\n' "$source" ;;
		esac
	done
}

# prepare_entry creates the new entry as $fresh in the room of its directory.
prepare_entry() {
	context=
	[ -z "$contexts" ] || IFS= read -r context <&7 || :
	case $kind in
	gone)
		original=$originals/$orig
		if [ "$restore" != yes ] || [ -e "$original.default" ]; then original=$root/usr$path; fi
		case $restore:$path in
		yes:* | *:/etc/*) ;;
		*) return 0 ;; # only /etc has defaults of the OS
		esac
		path_exists "$original" || return 0
		if [ -d "$original" ] && [ ! -L "$original" ]; then return 0; fi
		need_room "$dir"
		attempt cp -a "$original" "./$fresh" || refuse "$output"
		if [ -f "./$fresh" ] && [ ! -L "./$fresh" ]; then attempt sync "./$fresh" || refuse "$output"; fi
		ready="$ready $n "
		return
		;;
	parent | directory)
		code=0
		enter_dir "$dir" || code=$?
		if [ "$code" = 0 ] && [ -d "./$name" ]; then return 0; fi
		;;
	esac
	need_room "$dir"
	case $kind in
	parent | directory) attempt mkdir -m "$mode" "./$fresh" || refuse "$output" ;;
	file) attempt cp --preserve=mode,ownership "$tx/new/$source" "./$fresh" || refuse "$output" ;;
	link)
		attempt ln -sT -- "$data" "./$fresh" || refuse "$output"
		[ "$owner" = "$me" ] || [ -n "$late" ] || attempt chown -h "$owner" "./$fresh" || refuse "$output"
		;;
	esac
	case $context in
	/* | '' | '<<none>>' | *' '*) ;;
	*) [ "$kind" = hard ] || attempt chcon -h "$context" "./$fresh" || refuse "$output" ;;
	esac
	case $kind in
	parent | directory)
		id=$(stat -c %d:%i "./$fresh")
		attempt move_into_place || refuse "$output"
		made="$made $n=$id "
		;;
	esac
}

# copy_original_attributes restores the owner and mode of the original if a file stays
# without the appended text because others have added lines to it. Afterwards the
# original is not needed.
copy_original_attributes() {
	[ "$kind:$restore" = file:yes ] || return 0
	printf '%s\n' "$orig" >>"$tx/restored"
	original=$originals/$orig
	[ ! -e "$original.default" ] || original=$root/usr$path
	if [ ! -f "$original" ] || [ -L "$original" ]; then return 0; fi
	# The mode stays if an account could have moved the file of another account to this
	# path.
	case $lf$even$lf in
	*"$lf.$path$lf"*) ;;
	*) is_root_only "${path%/*}" || return 0 ;;
	esac
	need_room "$dir"
	attempt chown --reference="$original" "./$fresh" || refuse "$output"
	attempt chmod --reference="$original" "./$fresh" || refuse "$output"
}

# sync_rooms writes the new files to disk.
sync_rooms() {
	while IFS= read -r dir; do
		[ -n "$dir" ] || continue
		need_room "${dir%/}"
		for file in ./file-*; do
			[ -e "$file" ] || break
			attempt sync ./file-* || refuse "$output"
			break
		done
	done <<END
$rooms
END
}
