# ended runs at every exit before the write is complete, and restores the host.
ended() {
	code=$?
	trap - EXIT
	trap '' TERM INT
	set +e
	kept='' spot=''
	if [ "$phase" = writing ]; then
		point undoing
		back
	fi
	[ ! -e "$tx/rooms" ] || sweep "$tx/rooms"
	changed=yes
	while [ -n "$changed" ]; do
		changed=
		edits unmake
	done
	if [ "$phase" = writing ]; then
		{ directories | xargs -0 -r sync --; } 2>/dev/null
		if [ -e "$tx/applied" ]; then record "$tx/applied"; else rm -f "$applied" && sync "$state"; fi 2>/dev/null ||
			kept="$kept, the record"
		[ -z "$kept" ] || complain "$doing: these could not be put back: ${kept#, }"
		[ -n "$kept" ] || complain "$doing: all was put back"
		[ -n "$kept" ] || point undone
	fi
	cd /
	if [ -z "$kept" ]; then
		rm -rf "$tx"
		[ "$code" != 1 ] || code=79
	fi
	exit "$code"
}

# unmake removes a directory that the write created.
unmake() {
	case $made in
	*" $n="*) if enter "$dir" && rmdir "./$name" 2>/dev/null; then changed=yes; fi ;;
	esac
}

# back undoes the write in reverse order.
back() {
	unitsback late
	keysback
	changed=yes
	while [ -n "$changed" ]; do
		changed=
		edits redirect
	done
	edits putback
	unitsback early
	accountsback
}

# unback undoes a change by systemctl, even if the change may not have happened.
# Arguments: early or late, verb, inverse verb, units.
unback() {
	case $unitsdone in
	*" $1 $2 "*) ;;
	*) return 0 ;;
	esac
	verb=$3
	shift 3
	timeout -k 10 300 systemctl "$verb" -- "$@" >/dev/null 2>&1 8>&- 9>&- || kept="$kept, whether these are enabled: $*"
}

# redirect creates a removed directory again. Its parent must exist.
redirect() {
	case $gone in
	*" $n "*) ;;
	*) return ;;
	esac
	enterroom "$dir" && rm -rf "./back-$n" && mkdir -m 0700 "./back-$n" && inherit "./back-$n" && mv -fT "./back-$n" "../$name" || return
	gone="${gone%%" $n "*} ${gone#*" $n "}"
	changed=yes
}

# inherit restores the owner and mode of a directory.
inherit() {
	owned=${wasstat#* }
	chown "${owned% *}:${owned#* }" "$1" && chmod "$wasmode" "$1"
}

putback() {
	case $kind:$was in
	parent:*) ;;
	directory:directory)
		case $given in
		*" $n="*) enter "$path" && given "$(stat -c %d:%i .)" && inherit . || kept="$kept, $path" ;;
		esac
		;;
	*:directory)
		case $gone in
		*" $n "*) kept="$kept, $path" ;;
		esac
		;;
	*:none)
		if enter "$dir" && found "./$name" && [ "$kind" != directory ]; then rm -f "./$name" || kept="$kept, $path"; fi
		;;
	*)
		enterroom "$dir" && rm -f "./back-$n" && cp -a "$tx/old$path" "./back-$n" && mv -fT "./back-$n" "../$name" || kept="$kept, $path"
		;;
	esac
}

# given reports whether the current directory is the one whose owner and mode the write
# has changed.
given() {
	case $given in
	*" $n=$1 "*) ;;
	*) return 1 ;;
	esac
}
