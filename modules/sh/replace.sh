# attempt runs a command that may fail, and keeps what it says.
attempt() { said=$("$@" 2>&1); }

# refuse ends the script because of the entry it is at.
refuse() {
	complain "$doing: $about: $*"
	full "$*" && exit 77
	exit 1
}

# prepare makes what the entry is to be in the room of its directory, under the
# name $fresh.
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

# replace puts what was made in the place of what is there, if that is not a
# directory with something in it.
# shellcheck disable=SC2086 # an option or nothing
replace() { mv $nocopy -fT "./$fresh" "../$name"; }

# syncrooms brings the new files to the disk.
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

# belated prepares again what belongs to an account that is there only now.
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

# keep copies what is there, if it was not copied with all that can be read by
# path. Linked into a room it stays the same file, whatever its name means by
# then; it has to be what was planned with.
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

# copyfile gives up on a file that grows without end.
copyfile() {
	ulimit -f $((large / 512 + 1)) 2>/dev/null
	timeout -k 5 120 cp -a "./old-$n" "$copy"
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

# attributes gives the directory that the script is in its owner and mode, if it
# is the one that was made, or planned with, and none that was put in its place.
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

# hardlink replaces the entry by a hard link, unless it is that already: two
# links to the same file cannot be renamed to each other.
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

# leave removes the entry, or puts its original back.
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

# restored notes that the original is not needed any more once the record says so.
restored() { [ "$restore" != yes ] || printf '%s\n' "$orig" >>"$tx/restored"; }

# onward goes to the directory of what goes, if that is not gone itself.
onward() {
	code=0
	enter "$dir" || code=$?
	case $code in
	0) ;;
	1) return 1 ;;
	*) refuse "its directory is not there any more" ;;
	esac
}

# owned gives files an owner: owner, files.
owned() { [ "$1" = "$me" ] || chown "$@"; }
