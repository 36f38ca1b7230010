# A room is a directory of root inside a directory that the write changes. Nobody else
# can swap the contents of a room, or move the room, because this takes the right to
# write to it. In a room, ../NAME is NAME in the directory around it.
#
# It needs: tx, state, and the functions attempt, refuse and grounds (which prints all
# directories that may get a room).
room='' token='' # name of each room, and of a file in it; nobody else knows them
rooms=$lf        # directories that have a room, each with / and a newline

# nameroom chooses the name and the token.
nameroom() {
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

# recordrooms writes name and token to disk before any room exists, so that a later run
# can clean up.
recordrooms() {
	{
		printf '%s\n' "$room" "$token"
		grounds
	} >"$tx/rooms"
	sync "$tx/rooms" "$tx" "$state/tx" "$state"
}

# inside enters the room of the current directory, and opens this directory as
# descriptor 6. It fails for a link to another room, which has another parent
# directory.
inside() {
	command exec 6<. && cd -P "./$room/." 2>/dev/null && [ .. -ef /proc/self/fd/6 ] && [ -f "./$token" ]
}

# enterroom DIR enters the room of a directory. It creates the room if necessary. It
# returns the status of enter, or 3 if it cannot create the room ($said).
enterroom() {
	[ "$spot" != "room $1" ] || return 0
	spot=
	enter "$1" || return
	spot=
	if ! inside; then
		enter "$1" || return
		spot=
		makeroom || return 3
		rooms="$rooms$1/$lf"
	fi
	spot="room $1"
}

makeroom() {
	command exec 6<. || return
	attempt mkdir -m 0700 "./$room" || return
	said="$room is not the directory that was made; somebody meddles there"
	cd -P "./$room/." 2>/dev/null || return
	[ .. -ef /proc/self/fd/6 ] || return
	case $(stat -c '%u %f' .) in
	"$uid 41c0" | "$uid 45c0") ;;
	*) return 1 ;;
	esac
	[ -z "$(ls -A)" ] || return
	: >"./$token"
}

# needroom calls enterroom, and ends the script on failure.
needroom() {
	code=0
	enterroom "$1" || code=$?
	case $code in
	0) ;;
	1) refuse "its directory is not there any more" ;;
	2) refuse "$link is a symbolic link by now" ;;
	*) refuse "$said" ;;
	esac
}

# emptyroom removes the room of the current directory, and returns to this directory.
# It keeps a directory with another name or token.
emptyroom() {
	[ -d "./$room" ] && [ ! -L "./$room" ] || return 0
	if inside; then rm -rf -- ./*; fi
	cd -P /proc/self/fd/6/. && rmdir "./$room" 2>/dev/null || :
}

# sweep removes the rooms in a list that recordrooms has written.
sweep() {
	{
		IFS= read -r room && IFS= read -r token || return 0
		while IFS= read -r dir; do
			if enter "$dir"; then emptyroom; fi
		done
	} <"$1"
	spot=
}

# sweepall removes the rooms of all transactions.
sweepall() {
	for list in "$state"/tx/*/rooms; do
		[ ! -e "$list" ] || sweep "$list"
	done
	room='' token=''
}
