# keep_old_files keeps the entries that the write replaces or removes.
keep_old_files() {
	about='what is there now'
	mkdir -p "$tx/old" "$originals"
	output=$({ cd "$root/." && printf '%s\n' "$graded" | sed -n 's/^=//p' | tr '\n' '\0' | xargs -0 -r cp -a --parents -t "$tx/old" --; } 2>&1) || refuse "$output"
	for_each_edit keep_old_file
}

# keep_old_file keeps the existing file, as a link in a room: the link stays the same
# file even if its path changes, and needs no space to be put back. keep_old_file copies
# it, too, as the original. It does not copy files that are safe to read by path: they
# are copied already. The file must be as planned.
keep_old_file() {
	case $was in
	file | link) ;;
	*) return 0 ;;
	esac
	need_room "$dir"
	case $lf$even$lf in
	*"$lf.$path$lf"*)
		attempt ln -PT "../$name" "./old-$n" && copy_old_acl && return
		# Some file systems have no hard links, for example the one of /boot/efi.
		attempt cp -a "$tx/old$path" "./old-$n" || refuse "$output"
		[ "$was" = link ] || attempt sync "./old-$n" || refuse "$output"
		return
		;;
	esac
	attempt ln -PT "../$name" "./old-$n" || refuse "$output"
	copy_old_acl
	now=$(stat -c '%f %u %g' "./old-$n")
	copy=$tx/old$path
	mkdir -p "${copy%/*}"
	case $was:$now in
	link:a*) attempt cp -a "./old-$n" "$copy" && [ "$(readlink "$copy")" = "$wasdata" ] && return ;;
	"file:$wasstat") attempt copy_old_file && [ "$(sha256sum <"$copy" | cut -c1-64)" = "$wasdata" ] && return ;;
	esac
	is_disk_full "$output" && refuse "$output"
	complain "$doing: $path is not as it was when this was planned (somebody changes it right now)"
	exit 76
}

# copy_old_acl gives the access control list of the old file to a new one with its owner and
# mode. Without the list, the group would get all that the list lets anybody do.
copy_old_acl() {
	[ -z "$inherits" ] || ! has_acl "./old-$n" || attempt cp --attributes-only --preserve=mode "./old-$n" "./$fresh" || refuse "$output"
}

# copy_old_file copies a file. It stops at a size and time limit, because the file may grow
# without end.
copy_old_file() {
	ulimit -f $((large / 512 + 1)) 2>/dev/null
	timeout -k 5 120 cp -a "./old-$n" "$copy"
}

# preserve_originals keeps the entries of the host that holdfast has never written.
preserve_originals() {
	about='originals'
	output=$({ cd "$tx/old" && for_each_edit print_saved | xargs -0 -r sync --; } 2>&1) || refuse "$output"
	for_each_edit preserve_original
}

# print_saved prints a file that the write saves as the original.
print_saved() { [ "$save:$was" != yes:file ] || printf '.%s\0' "$path"; }

# preserve_original keeps the existing file as the original. If the file is the default
# of the OS, it only notes this, because a later OS may have another default.
preserve_original() {
	[ "$save" = yes ] && [ "$was" != none ] && ! path_exists "$originals/$orig" && [ ! -e "$originals/$orig.default" ] || return 0
	case $path in
	/etc/*)
		if is_os_default; then
			attempt touch "$originals/$orig.default" || refuse "$output"
			return
		fi
		;;
	esac
	attempt ln -PT "$tx/old$path" "$originals/$orig" || refuse "$output"
}

# is_os_default reports whether the entry is the default of the OS.
is_os_default() {
	shipped=$root/usr$path
	[ -d "$root/usr/etc" ] && path_exists "$shipped" || return 1
	[ "$(stat -c '%f %u %g' "$shipped")" = "$wasstat" ] || return 1
	case $was in
	file) [ "$(sha256sum <"$shipped" | cut -c1-64)" = "$wasdata" ] ;;
	link) [ "$(readlink "$shipped")" = "$wasdata" ] ;;
	*) false ;;
	esac
}

# replace_edits changes the entries of the host.
replace_edits() {
	for_each_edit prepare_late_entry
	for_each_edit swap_entry
	for_each_edit make_hard_link
	for_each_edit remove_entry
	about='directories'
	output=$({ for_each_edit print_directories | sort -zu | xargs -0 -r sync --; } 2>&1) || refuse "$output"
}

# print_directories prints the directories whose entries the write may change.
print_directories() {
	[ ! -d "$root$dir/" ] || printf '%s/\0' "$root$dir"
	[ "$kind" != directory ] || [ ! -d "$root$path/" ] || printf '%s/\0' "$root$path"
}

# prepare_late_entry prepares an entry again if the write has created or changed its owner
# since.
prepare_late_entry() {
	[ -n "$late" ] || return 0
	case $kind in
	file)
		attempt chown "$owner" "$tx/new/$source" || refuse "$output"
		attempt chmod "$mode" "$tx/new/$source" || refuse "$output"
		need_room "$dir"
		[ -z "$contexts" ] || context=$(stat -c %C "./$fresh")
		rm -f "./$fresh"
		attempt cp --preserve=mode,ownership "$tx/new/$source" "./$fresh" || refuse "$output"
		[ -z "$contexts" ] || attempt chcon -h "$context" "./$fresh" || refuse "$output"
		attempt sync "./$fresh" || refuse "$output"
		;;
	link)
		need_room "$dir"
		attempt chown -h "$owner" "./$fresh" || refuse "$output"
		;;
	esac
}

# swap_entry replaces an entry. It skips removals and hard links, which come last.
swap_entry() {
	case $kind in
	parent | hard | gone) return ;;
	esac
	mark_point "rename $n"
	case $kind in
	file | link)
		need_room "$dir"
		attempt move_into_place || refuse "$output"
		;;
	directory)
		enter_dir "$path" || refuse "it is not a directory any more"
		set_dir_attributes
		;;
	esac
}

# move_into_place moves the new entry to its path. It fails if a directory with contents is
# there.
# shellcheck disable=SC2086 # an option or nothing
move_into_place() { mv $nocopy -fT "./$fresh" "../$name"; }

# set_dir_attributes sets owner and mode of the current directory. It fails if this is
# neither the created nor the planned directory.
set_dir_attributes() {
	id=$(stat -c '%d:%i' .)
	now=$(stat -c '%f %u %g' .)
	case "$made|$id|$now" in
	*" $n=$id "*) ;;
	*" $n="*) refuse "it is not the directory that was made" ;;
	*"|$id|$wasstat") [ "${inode:-$id}" = "$id" ] || refuse "it is not the directory that was planned with" ;;
	*) refuse "its mode or owner changed" ;;
	esac
	given="$given $n=$id "
	alone=
	! is_foreign_dir || alone=yes
	case ${now#* } in
	"${owner%:*} ${owner#*:}") ;;
	*) attempt chown "$owner" . || refuse "$output" ;;
	esac
	attempt chmod "$mode" . || refuse "$output"
	[ -z "$alone" ] || ! has_acl . || refuse "$unlist"
}

# is_foreign_dir reports whether the lists of the current directory are not of the
# account that owns it and keeps it. This account may share it as it likes.
is_foreign_dir() {
	case $(stat -c %u:%U .) in
	"$uid":*) ;;
	"${owner%:*}":* | *:"${owner%:*}") return 1 ;;
	esac
}

# make_hard_link replaces the entry by a hard link. It does nothing if the entry is that
# link already: rename does nothing for two links to the same file.
make_hard_link() {
	[ "$kind" = hard ] || return 0
	mark_point "rename $n"
	need_room "$targetdir"
	attempt ln -PT "../$targetname" "./target-$n" || refuse "$output"
	[ -f "./target-$n" ] && [ ! -L "./target-$n" ] || refuse "$targetdir/$targetname is not a file"
	command exec 5<. || refuse "the directory of its target cannot be opened"
	need_room "$dir"
	if [ ! "/proc/self/fd/5/target-$n" -ef "../$name" ] || [ -L "../$name" ]; then
		attempt ln -PT "/proc/self/fd/5/target-$n" "./$fresh" || refuse "$output"
		attempt move_into_place || refuse "$output"
	fi
	exec 5<&-
}

# remove_entry removes the entry, or restores its original.
remove_entry() {
	[ "$kind" = gone ] || return 0
	mark_point "rename $n"
	case "$ready" in
	*" $n "*)
		need_room "$dir"
		attempt move_into_place || refuse "$output"
		note_restored
		return
		;;
	esac
	if [ "$was" = directory ]; then
		set_dir_aside || say "$path stays, because it is not empty"
	else
		enter_parent || return 0
		attempt rm -f "./$name" || refuse "$output"
	fi
	note_restored
}

# set_dir_aside moves a directory that is empty, but for its room, into the room of the
# directory around it. So an undo can put it back without space, with all that the room
# has. It returns 1 if the directory is not empty.
set_dir_aside() {
	enter_dir "$path" || return 0
	case $(ls -A) in
	'' | "$room") ;;
	*) return 1 ;;
	esac
	id=$(stat -c %d:%i .)
	code=0
	enter_room "$dir" || code=$?
	case $code in
	0) ;;
	1) return 0 ;;
	*) refuse "${output:-its directory is not there any more}" ;;
	esac
	attempt mkdir -m 0700 "./went-$n" || refuse "$output"
	# shellcheck disable=SC2086 # an option or nothing
	mv $nocopy -nT "../$name" "./went-$n/$name" 2>/dev/null || return 1
	[ "$(stat -c %d:%i "./went-$n/$name")" = "$id" ] || {
		mv -nT "./went-$n/$name" "../$name" # somebody has just put something else there
		return 1
	}
	gone="$gone $n "
	case $rooms in
	*"$lf$path/$lf"*) rooms="${rooms%%"$lf$path/$lf"*}$lf${rooms#*"$lf$path/$lf"}" ;;
	esac
}

# note_restored notes that the original can be removed after the record is written.
note_restored() { [ "$restore" != yes ] || printf '%s\n' "$orig" >>"$tx/restored"; }

# enter_parent enters the directory of a removed entry, if the directory still exists.
enter_parent() {
	code=0
	enter_dir "$dir" || code=$?
	case $code in
	0) ;;
	1) return 1 ;;
	*) refuse "its directory is not there any more" ;;
	esac
}

# set_owner OWNER FILE... sets the owner of files.
set_owner() { [ "$1" = "$me" ] || chown "$@"; }
