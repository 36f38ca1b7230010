# undo_on_exit runs at every exit before the write is complete, and restores the host.
undo_on_exit() {
	code=$?
	trap - EXIT
	trap '' TERM INT
	set +e
	kept='' entered=''
	if [ "$phase" = writing ]; then
		mark_point undoing
		undo_write
	fi
	[ ! -e "$tx/rooms" ] || sweep_own_rooms
	changed=yes
	while [ -n "$changed" ]; do
		changed=
		for_each_edit remove_made_dir
	done
	if [ "$phase" = writing ]; then
		{ for_each_edit print_directories | sort -zu | xargs -0 -r sync --; } 2>/dev/null
		# The copy is there already, so this needs no space.
		{ if [ -e "$tx/applied" ]; then mv -fT "$tx/applied" "$applied"; else rm -f "$applied"; fi && sync "$state"; } 2>/dev/null ||
			kept="$kept, the record"
		[ -z "$kept" ] || complain "$doing: these could not be put back: ${kept#, }"
		[ -n "$kept" ] || say "$doing: all was put back"
		[ -n "$kept" ] || mark_point undone
	fi
	cd /
	if [ -z "$kept" ]; then
		rm -rf "$tx"
		case $code in
		1 | 2) code=79 ;; # 2: of the shell itself
		esac
	else
		code=80 # every other status of a refusal means that the host is unchanged
	fi
	exit "$code"
}

# remove_made_dir removes a directory that the write created.
remove_made_dir() {
	case $made in
	*" $n="*) if enter_dir "$dir" && rmdir "./$name" 2>/dev/null; then changed=yes; fi ;;
	esac
}

# undo_write undoes the write in reverse order. The disk may be full, or an account may
# fill it right now: so undo_write only moves existing files.
undo_write() {
	[ -z "$hasunits$haskeys" ] || ! enter_room /etc || rm -rf ./reserve
	restore_units late
	restore_keys
	changed=yes
	while [ -n "$changed" ]; do
		changed=
		for_each_edit put_dir_back
	done
	for_each_edit put_entry_back
	restore_units early
	restore_account_files
	restore_removed_keys
	[ -z "$reloaded" ] || reload_sshd
}

# reserve_space takes some space that undo_write frees again: to enable a unit,
# systemctl makes links and directories, and the keys of a user are written by a process
# of the user.
reserve_space() {
	about='space for an undo'
	need_room /etc
	mkdir ./reserve
	for part in 1 2 3 4 5 6 7 8; do
		attempt dd if=/dev/urandom of="./reserve/$part" bs=4096 count=2 || refuse "$output"
	done
	attempt sync ./reserve/* || refuse "$output"
}

# put_dir_back puts a removed directory back, with its room. Its parent must exist.
put_dir_back() {
	case $gone in
	*" $n "*) ;;
	*) return ;;
	esac
	enter_room "$dir" && mv -fT "./went-$n/$name" "../$name" 2>/dev/null || return 0
	gone="${gone%%" $n "*} ${gone#*" $n "}"
	rooms="$rooms$path/$lf"
	entered=
	changed=yes
}

# restore_dir_attributes restores the owner and mode of the current directory.
restore_dir_attributes() {
	owned=${wasstat#* }
	chown "${owned% *}:${owned#* }" . && chmod "$wasmode" .
}

put_entry_back() {
	case $kind:$was in
	parent:*) ;;
	directory:directory)
		case $given in
		*" $n="*) enter_dir "$path" && has_new_attributes "$(stat -c %d:%i .)" && restore_dir_attributes || kept="$kept, $path" ;;
		esac
		;;
	*:directory)
		case $gone in
		*" $n "*) kept="$kept, $path" ;;
		esac
		;;
	*:none)
		if enter_dir "$dir" && path_exists "./$name" && [ "$kind" != directory ]; then rm -f "./$name" || kept="$kept, $path"; fi
		;;
	*)
		if enter_room "$dir" && move_old_back; then return; fi
		# Somebody has taken the room away. The copy needs space.
		enter_room "$dir" && rm -f "./back-$n" && cp -a "$tx/old$path" "./back-$n" && mv -fT "./back-$n" "../$name" || kept="$kept, $path"
		;;
	esac
}

# move_old_back puts the kept file back, if it is not in its place still. Two links to
# one file cannot be moved to each other.
move_old_back() {
	id=$(stat -c %d:%i "./old-$n" 2>/dev/null) || return 1
	[ "$id" = "$(stat -c %d:%i "../$name" 2>/dev/null)" ] || mv -fT "./old-$n" "../$name"
}

# has_new_attributes reports whether the current directory is the one whose owner and
# mode the write has changed.
has_new_attributes() {
	case $given in
	*" $n=$1 "*) ;;
	*) return 1 ;;
	esac
}
