# ended is called at whatever end before all is written, and leaves the host as
# it was.
ended() {
	code=$?
	trap - EXIT
	trap '' TERM INT
	set +e
	kept=
	if [ "$phase" = writing ]; then
		back
	fi
	edits tidy
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
	fi
	cd /
	if [ -z "$kept" ]; then
		rm -rf "$tx"
		[ "$code" != 1 ] || code=79
	fi
	exit "$code"
}

# unmake removes a directory that was made.
unmake() {
	case $made in
	*" $n "*) if enter "$dir" && rmdir "./$name" 2>/dev/null; then changed=yes; fi ;;
	esac
}

# back undoes what has been written, last things first.
back() {
	unitsback late
	keysback
	edits redirect
	edits putback
	unitsback early
	accountsback
}

# unback undoes what systemctl has done, or may have: when, what, how, units.
unback() {
	case $unitsdone in
	*" $1 $2 "*) ;;
	*) return 0 ;;
	esac
	verb=$3
	shift 3
	systemctl "$verb" -- "$@" >/dev/null 2>&1 8>&- 9>&- || kept="$kept, whether these are enabled: $*"
}

# redirect makes a directory again that was removed; those that are in it have
# been made before.
redirect() {
	[ "$kind:$was" = gone:directory ] || return 0
	mkdir -p "$root$path"
	inherit
}

# inherit gives a directory the owner and mode that it had.
inherit() {
	owned=${wasstat#* }
	enter "$path" && chown "${owned% *}:${owned#* }" . && chmod "$wasmode" . || kept="$kept, $path"
}

putback() {
	case $kind in
	parent) return ;;
	esac
	case $was in
	directory)
		[ "$kind" != directory ] || inherit
		;;
	none)
		if enter "$dir" && found "./$name" && [ "$kind" != directory ]; then rm -f "./$name" || kept="$kept, $path"; fi
		;;
	*)
		enter "$dir" && rm -f "./$tmp" && cp -a "$tx/old$path" "./$tmp" && mv -fT "./$tmp" "./$name" || kept="$kept, $path"
		rm -f "./$tmp"
		;;
	esac
}
