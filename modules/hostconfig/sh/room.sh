# A room is a directory of root inside a directory that the write changes. Nobody else
# can swap the contents of a room, or move the room, because this takes the right to
# write to it. In a room, ../NAME is NAME in the directory around it.
#
# It needs: tx, state, and the functions attempt and refuse. Besides the variables below,
# its functions set: entered (room DIR in the room of DIR), output (why there is no room)
# and missed (directories whose rooms stay).
room='' token='' # name of each room, and of a file in it; nobody else knows them
rooms=$lf        # directories that have a room, each with / and a newline
twice=           # yes: somebody has taken a room away, and another was made

# open_room ROOM enters the room of the current directory, ./$room if it has its name still,
# and opens this directory as descriptor 6. It fails for a link to another room, which has
# another parent directory, and for a directory without the token.
open_room() {
	command exec 6<. && cd -P "$1/." 2>/dev/null && [ .. -ef /proc/self/fd/6 ] && [ -f "./$token" ]
}

# enter_room DIR enters the room of a directory. It creates the room if necessary. It
# returns the status of enter_dir, or 3 if it cannot create the room ($output).
enter_room() {
	[ "$entered" != "room $1" ] || return 0
	entered=
	enter_dir "$1" || return
	entered=
	if ! open_room "./$room"; then
		enter_dir "$1" || return
		entered=
		make_room || return 3
		case $rooms in
		*"$lf$1/$lf"*) twice=yes ;;
		esac
		rooms="$rooms$1/$lf"
	fi
	entered="room $1"
}

make_room() {
	command exec 6<. || return
	attempt mkdir -m 0700 "./$room" || return
	meddled="$room is not the directory that was made; somebody meddles there"
	output=$meddled
	cd -P "./$room/." 2>/dev/null || return
	[ .. -ef /proc/self/fd/6 ] || return
	case $(stat -c '%u %f' .) in
	"$uid 41c0" | "$uid 45c0") ;;
	*) return 1 ;;
	esac
	[ -z "$(ls -A)" ] || return
	remove_acls "$tx/plain" || return
	output=$meddled
	command : >"./$token" 2>/dev/null # without command, some shells end here if it fails
}

# need_room calls enter_room, and ends the script on failure.
need_room() {
	code=0
	enter_room "$1" || code=$?
	case $code in
	0) ;;
	1) refuse "its directory is not there any more" ;;
	2) refuse "$link is a symbolic link by now" ;;
	*) refuse "$output" ;;
	esac
}

# remove_room removes the room of the current directory, also if somebody has given it
# another name, and returns to this directory. It returns 1 if the room is not found or
# cannot be removed. Argument: yes to search for another name.
remove_room() {
	emptied=1
	if close_room "./$room"; then
		emptied=0
		[ -n "$twice" ] || return 0
	fi
	[ -n "$1" ] || return "$emptied"
	for other in ./* ./.[!.]* ./..?*; do
		if [ "$other" != "./$room" ] && close_room "$other"; then emptied=0; fi
	done
	return "$emptied"
}
close_room() {
	[ -d "$1" ] && [ ! -L "$1" ] || return 1
	ours=
	if open_room "$1"; then
		clear_room
		ours=yes
	fi
	cd -P /proc/self/fd/6/. || return 1
	if [ -z "$ours" ]; then
		# A write that was killed may have left a room without a token. With the name alone,
		# it may also be a directory that somebody has put in the place of the room.
		[ "$1" != "./$room" ] || rmdir "$1" 2>/dev/null || :
		return 1
	fi
	rmdir "$1" 2>/dev/null
}

# clear_room removes the contents of the room that is the current directory. went-N has a
# removed directory, which may have a room itself. If somebody has put something into the
# directory since, it returns to its place.
clear_room() {
	rm -rf -- ./[!w]* # the name of the token has no w
	for went in ./went-*/* ./went-*/.[!.]* ./went-*/..?*; do
		[ -d "$went" ] && [ ! -L "$went" ] || continue
		(cd -P "$went/." && remove_room '') || :
		rmdir "$went" 2>/dev/null || mv -nT "$went" "../${went##*/}" || :
		[ ! -d "../${went##*/}" ] || say "${went##*/} stays, because it is not empty"
	done
	rmdir ./went-* 2>/dev/null || :
}

# sweep_rooms removes the rooms in a list that record_rooms has written. It sets missed
# to the directories whose rooms are not removed. Argument 2: yes if all of them had
# one.
sweep_rooms() {
	missed=
	{
		IFS= read -r room && IFS= read -r token || return 0
		while IFS= read -r dir; do
			had=$2
			case $rooms in
			*"$lf$dir/$lf"*) had=yes ;;
			"$lf") search=yes ;;
			esac
			if enter_dir "$dir" && remove_room "$had$search"; then continue; fi
			[ -z "$had" ] || missed=$missed$dir$lf
		done
	} <"$1"
	entered=
}

# sweep_own_rooms removes the rooms of this write. A room that is not found, because
# somebody has moved its directory, stays on the list of rooms that later writes look
# for.
sweep_own_rooms() {
	search=
	sweep_rooms "$tx/rooms" ''
	[ -n "$missed" ] || return 0
	complain "$doing: somebody has moved a directory of root ($room) out of the way, or keeps it from being removed; the next write looks for it again in:$(printf %s "$missed" | sed 's/^/ /' | tr -d '\n')"
	# shellcheck disable=SC2015 # there may be no space
	mkdir -p "$state/left" && printf '%s\n' "$room" "$token" "${missed%"$lf"}" >"$state/left/${room#.}" || :
}

# sweep_all_rooms removes the rooms of all transactions, and those that were not found
# before.
sweep_all_rooms() {
	search=
	count=0
	for list in "$state"/left/*; do
		[ -e "$list" ] || break
		count=$((count + 1))
		if [ "$count" -le 50 ]; then sweep_rooms "$list" yes; else missed=; fi
		[ -n "$missed" ] || rm -f "$list"
	done
	rmdir "$state/left" 2>/dev/null || :
	for list in "$state"/tx/*/rooms; do
		[ ! -e "$list" ] || sweep_rooms "$list" ''
	done
	room='' token=''
}
