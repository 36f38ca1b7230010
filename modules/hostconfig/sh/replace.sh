# attempt runs a command that may fail, and keeps its output in said.
attempt() { said=$("$@" 2>&1); }

# refuse ends the script because of an error with the current entry.
refuse() {
	complain "$doing: $about: $*"
	full "$*" && exit 77
	exit 1
}

# prepare creates the new entry as $fresh in the room of its directory.
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
		needroom "$dir"
		attempt cp -a "$original" "./$fresh" || refuse "$said"
		if [ -f "./$fresh" ] && [ ! -L "./$fresh" ]; then attempt sync "./$fresh" || refuse "$said"; fi
		ready="$ready $n "
		return
		;;
	parent | directory)
		code=0
		enter "$dir" || code=$?
		if [ "$code" = 0 ] && [ -d "./$name" ]; then return 0; fi
		;;
	esac
	needroom "$dir"
	case $kind in
	parent | directory) attempt mkdir -m "$mode" "./$fresh" || refuse "$said" ;;
	file) attempt cp --preserve=mode,ownership "$tx/new/$source" "./$fresh" || refuse "$said" ;;
	link)
		attempt ln -sT -- "$data" "./$fresh" || refuse "$said"
		[ "$owner" = "$me" ] || [ -n "$late" ] || attempt chown -h "$owner" "./$fresh" || refuse "$said"
		;;
	esac
	case $context in
	/* | '' | '<<none>>' | *' '*) ;;
	*) [ "$kind" = hard ] || attempt chcon -h "$context" "./$fresh" || refuse "$said" ;;
	esac
	case $kind in
	parent | directory)
		id=$(stat -c %d:%i "./$fresh")
		attempt replace || refuse "$said"
		made="$made $n=$id "
		;;
	esac
}

# replace moves the new entry to its path. It fails if a directory with contents is
# there.
# shellcheck disable=SC2086 # an option or nothing
replace() { mv $nocopy -fT "./$fresh" "../$name"; }

# syncrooms writes the new files to disk.
syncrooms() {
	while IFS= read -r dir; do
		[ -n "$dir" ] || continue
		needroom "${dir%/}"
		for file in ./file-*; do
			[ -e "$file" ] || break
			attempt sync ./file-* || refuse "$said"
			break
		done
	done <<END
$rooms
END
}

# belated prepares an entry again if the write has created its owner since.
belated() {
	[ -n "$late" ] || return 0
	case $kind in
	file)
		attempt chown "$owner" "$tx/new/$source" || refuse "$said"
		attempt chmod "$mode" "$tx/new/$source" || refuse "$said"
		needroom "$dir"
		[ -z "$contexts" ] || context=$(stat -c %C "./$fresh")
		rm -f "./$fresh"
		attempt cp --preserve=mode,ownership "$tx/new/$source" "./$fresh" || refuse "$said"
		[ -z "$contexts" ] || attempt chcon -h "$context" "./$fresh" || refuse "$said"
		attempt sync "./$fresh" || refuse "$said"
		;;
	link)
		needroom "$dir"
		attempt chown -h "$owner" "./$fresh" || refuse "$said"
		;;
	esac
}

# keep copies the existing file. It skips files that are safe to read by path: they are
# copied already. It links the file into a room, because the link stays the same file
# even if its path changes. The file must be as planned.
keep() {
	case $was in
	file | link) ;;
	*) return 0 ;;
	esac
	case $lf$even$lf in
	*"$lf.$path$lf"*) return 0 ;;
	esac
	needroom "$dir"
	attempt ln -PT "../$name" "./old-$n" || refuse "$said"
	now=$(stat -c '%f %u %g' "./old-$n")
	copy=$tx/old$path
	mkdir -p "${copy%/*}"
	case $was:$now in
	link:a*) attempt cp -a "./old-$n" "$copy" && [ "$(readlink "$copy")" = "$wasdata" ] && return ;;
	"file:$wasstat") attempt copyfile && [ "$(sha256sum <"$copy" | cut -c1-64)" = "$wasdata" ] && return ;;
	esac
	full "$said" && refuse "$said"
	complain "$doing: $path is not as it was when this was planned (somebody changes it right now)"
	exit 76
}

# copyfile copies a file. It stops at a size and time limit, because the file may grow
# without end.
copyfile() {
	ulimit -f $((large / 512 + 1)) 2>/dev/null
	timeout -k 5 120 cp -a "./old-$n" "$copy"
}

# preserve keeps the existing file as the original. If the file is the default of the
# OS, it only notes this, because a later OS may have another default.
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

# default reports whether the entry is the default of the OS.
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

# swap replaces an entry. It skips removals and hard links, which come last.
swap() {
	case $kind in
	parent | hard | gone) return ;;
	esac
	point "rename $n"
	case $kind in
	file | link)
		needroom "$dir"
		attempt replace || refuse "$said"
		;;
	directory)
		enter "$path" || refuse "it is not a directory any more"
		attributes
		;;
	esac
}

# attributes sets owner and mode of the current directory. It fails if this is neither
# the created nor the planned directory.
attributes() {
	id=$(stat -c '%d:%i' .)
	now=$(stat -c '%f %u %g' .)
	case "$made|$id|$now" in
	*" $n=$id "*) ;;
	*" $n="*) refuse "it is not the directory that was made" ;;
	*"|$id|$wasstat") [ "${inode:-$id}" = "$id" ] || refuse "it is not the directory that was planned with" ;;
	*) refuse "its mode or owner changed" ;;
	esac
	given="$given $n=$id "
	case ${now#* } in
	"${owner%:*} ${owner#*:}") ;;
	*) attempt chown "$owner" . || refuse "$said" ;;
	esac
	attempt chmod "$mode" . || refuse "$said"
}

# hardlink replaces the entry by a hard link. It does nothing if the entry is that link
# already: rename does nothing for two links to the same file.
hardlink() {
	[ "$kind" = hard ] || return 0
	point "rename $n"
	needroom "$targetdir"
	attempt ln -PT "../$targetname" "./target-$n" || refuse "$said"
	[ -f "./target-$n" ] && [ ! -L "./target-$n" ] || refuse "$targetdir/$targetname is not a file"
	command exec 5<. || refuse "the directory of its target cannot be opened"
	needroom "$dir"
	if [ ! "/proc/self/fd/5/target-$n" -ef "../$name" ] || [ -L "../$name" ]; then
		attempt ln -PT "/proc/self/fd/5/target-$n" "./$fresh" || refuse "$said"
		attempt replace || refuse "$said"
	fi
	exec 5<&-
}

# leave removes the entry, or restores its original.
leave() {
	[ "$kind" = gone ] || return 0
	point "rename $n"
	case "$ready" in
	*" $n "*)
		needroom "$dir"
		attempt replace || refuse "$said"
		restored
		return
		;;
	esac
	if [ "$was" = directory ]; then
		if enter "$path"; then emptyroom; fi
		spot=
		onward || return 0
		if rmdir "./$name" 2>/dev/null; then gone="$gone $n "; else say "$path stays, because it is not empty"; fi
	else
		onward || return 0
		attempt rm -f "./$name" || refuse "$said"
	fi
	restored
}

# restored notes that the original can be removed after the record is written.
restored() { [ "$restore" != yes ] || printf '%s\n' "$orig" >>"$tx/restored"; }

# onward enters the directory of a removed entry, if the directory still exists.
onward() {
	code=0
	enter "$dir" || code=$?
	case $code in
	0) ;;
	1) return 1 ;;
	*) refuse "its directory is not there any more" ;;
	esac
}

# owned OWNER FILE... sets the owner of files.
owned() { [ "$1" = "$me" ] || chown "$@"; }
