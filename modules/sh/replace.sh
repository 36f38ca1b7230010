# attempt runs a command that may fail, and keeps what it says.
attempt() { said=$("$@" 2>&1); }

# refuse ends the script because of the entry it is at.
refuse() {
	complain "$doing: $about: $*"
	full "$*" && exit 77
	exit 1
}

# prepare puts what the entry is to be beside it, under another name.
prepare() {
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
		found "$original" || return 0
		if [ -d "$original" ] && [ ! -L "$original" ]; then return 0; fi
		enter "$dir" || refuse "its directory is not there"
		attempt cp -a "$original" "./$tmp" || refuse "$said"
		if [ -f "./$tmp" ] && [ ! -L "./$tmp" ]; then attempt sync "./$tmp" || refuse "$said"; fi
		return
		;;
	esac
	enter "$dir" || refuse "its directory is not there"
	case $kind in
	parent | directory)
		[ ! -d "./$name" ] || return 0
		attempt mkdir -m "$mode" "./$name" || refuse "$said"
		made="$made $n "
		tmp=$name
		;;
	file) attempt cp --preserve=mode,ownership "$tx/new/$source" "./$tmp" || refuse "$said" ;;
	link)
		attempt ln -sT -- "$data" "./$tmp" || refuse "$said"
		[ "$owner" = "$me" ] || [ -n "$late" ] || attempt chown -h "$owner" "./$tmp" || refuse "$said"
		;;
	esac
	case $context in
	/* | '' | '<<none>>' | *' '*) ;;
	*) [ "$kind" = hard ] || attempt chcon -h "$context" "./$tmp" || refuse "$said" ;;
	esac
}

# belated prepares again what belongs to an account that is there only now.
belated() {
	[ -n "$late" ] || return 0
	case $kind in
	file)
		attempt chown "$owner" "$tx/new/$source" || refuse "$said"
		attempt chmod "$mode" "$tx/new/$source" || refuse "$said"
		enter "$dir" || refuse "its directory is not there"
		[ -z "$contexts" ] || context=$(stat -c %C "./$tmp")
		rm -f "./$tmp"
		attempt cp --preserve=mode,ownership "$tx/new/$source" "./$tmp" || refuse "$said"
		[ -z "$contexts" ] || attempt chcon -h "$context" "./$tmp" || refuse "$said"
		attempt sync "./$tmp" || refuse "$said"
		;;
	link)
		enter "$dir" || refuse "its directory is not there"
		attempt chown -h "$owner" "./$tmp" || refuse "$said"
		;;
	esac
}

# preserve keeps what is there as the original; the OS's own is only noted,
# because the OS that is there when it comes back may have another.
preserve() {
	[ "$save" = yes ] && [ "$was" != none ] && ! found "$originals/$orig" && [ ! -e "$originals/$orig.default" ] || return 0
	case $path in
	/etc/*)
		if default; then
			attempt touch "$originals/$orig.default" || refuse "$said"
			return
		fi
		;;
	esac
	attempt ln -PT "$tx/old$path" "$originals/$orig" || refuse "$said"
}

# default tells whether the entry is as the OS has it.
default() {
	shipped=$root/usr$path
	[ -d "$root/usr/etc" ] && found "$shipped" || return 1
	[ "$(stat -c '%f %u %g' "$shipped")" = "$wasstat" ] || return 1
	case $was in
	file) [ "$(sha256sum <"$shipped" | cut -c1-64)" = "$wasdata" ] ;;
	link) [ "$(readlink "$shipped")" = "$wasdata" ] ;;
	*) false ;;
	esac
}

# swap replaces the entry, unless it goes or is a hard link: those come last.
swap() {
	case $kind in
	parent | hard | gone) return ;;
	esac
	point "rename $n"
	enter "$dir" || refuse "its directory is not there any more"
	case $kind in
	file | link) attempt mv -fT "./$tmp" "./$name" || refuse "$said" ;;
	directory)
		enter "$path" || refuse "it is not a directory any more"
		attributes "$owner" "$mode"
		;;
	esac
}

attributes() {
	now=$(stat -c '%u:%g' .)
	case $1 in
	"$now") ;;
	*) attempt chown "$1" . || refuse "$said" ;;
	esac
	attempt chmod "$2" . || refuse "$said"
}

# hardlink replaces the entry by a hard link, unless it is that already: two
# links to the same file cannot be renamed to each other.
hardlink() {
	[ "$kind" = hard ] || return 0
	point "rename $n"
	enter "$targetdir" || refuse "the directory of its target is not there"
	target=$PWD/$targetname
	enter "$dir" || refuse "its directory is not there any more"
	if [ "$target" -ef "./$name" ] && [ ! -L "./$name" ]; then return 0; fi
	attempt ln -PT "$target" "./$tmp" || refuse "$said"
	attempt mv -fT "./$tmp" "./$name" || refuse "$said"
}

# leave removes the entry, or puts its original back.
leave() {
	[ "$kind" = gone ] || return 0
	point "rename $n"
	code=0
	enter "$dir" || code=$?
	[ "$code" != 1 ] || return 0
	[ "$code" = 0 ] || refuse "its directory is not there any more"
	if found "./$tmp"; then
		attempt mv -fT "./$tmp" "./$name" || refuse "$said"
	elif [ -d "./$name" ] && [ ! -L "./$name" ]; then
		rmdir "./$name" 2>/dev/null || say "$path stays, because it is not empty"
	else
		attempt rm -f "./$name" || refuse "$said"
	fi
	[ "$restore" != yes ] || printf '%s\n' "$orig" >>"$tx/restored"
}

# owned gives files an owner: owner, files.
owned() { [ "$1" = "$me" ] || chown "$@"; }
