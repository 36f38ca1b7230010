# The script that writes a configuration to a host. If it fails before it has updated
# the record, the host is unchanged. If it fails later, it undoes the write. If it is
# killed, the record names the unfinished write, and the next write repeats all of it.
#
# It needs: boot (ID of the boot at the time of the plan), the expected output for
# existing entries (statistics, digests, targets), hasaccounts (whether accounts
# change), hasrests (whether files stay without the appended text), job (keys.sh), and
# the functions of pathscript.go and accountscript.go.
wrong=
problem() {
	complain "write: $*"
	wrong=yes
}
unit() {
	unitsdone="$unitsdone $1 $2 "
	shift
	attempt timeout -k 10 300 systemctl "$@" 8>&- 9>&- || refuse "$said"
}
settled() { [ -z "$wrong" ] || exit "$1"; }
phase=preparing made='' ready='' given='' gone='' told='' accounts='' keysdone='' unitsdone='' contexts='' about=''
nocopy=
case $(mv --help) in
*--no-copy*) nocopy=--no-copy ;;
esac
me=$uid:$(id -g)
mounts=$(cut -d ' ' -f 5 "$root/proc/self/mountinfo" 2>/dev/null | tr '\n' ' ')
mounts=" $mounts"

lock
now=$(cat /proc/sys/kernel/random/boot_id)
[ "$now" = "$boot" ] || {
	complain "write: the host has rebooted since it was planned; nothing was done"
	exit 76
}
finish
trap ended EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
receive
(cd "$tx/new" && uploaded | sha256sum -c --quiet --strict) || {
	complain "write: what was sent has not arrived whole; nothing was done"
	exit 1
}
point unpacked

# One comparison covers all entries. If it fails, each entry is compared, to name the
# difference.
edits place
settled 1
nowstatistics() { present | xargs -0 -r stat --printf '%f %u %g\n' --; }
nowdigests() { (cd "$root/." && files | grade | digests) | sort; }
nowtargets() { links | xargs -0 -r readlink -z -- | tr '\0' '\n'; }
if ! absent || [ "$(nowstatistics 2>/dev/null)" != "$statistics" ] || [ "$(nowdigests 2>/dev/null)" != "$digests" ] || [ "$(nowtargets 2>/dev/null)" != "$targets" ]; then
	edits differs
	settled 76
fi
names
settled 1
point checked

doing='write'
about="$tx/rooms"
nameroom
said=$(recordrooms 2>&1) || refuse "$said"
graded=$(cd "$root/." && changing | grade)
even=$(printf '%s\n' "$graded" | sed -n 's/^=//p')
if selinuxenabled 2>/dev/null; then
	places | xargs -0 -r matchpathcon -n >"$tx/contexts"
	contexts=yes
	exec 7<"$tx/contexts"
fi
about='contents of files'
sources || refuse "$said"
edits prepare
[ -z "$hasrests" ] || edits likeoriginal
about='new files'
syncrooms
point prepared
claim write # fails if somebody took the host during the upload; from here on nobody can

about='what is there now'
mkdir -p "$tx/old" "$originals"
said=$({ cd "$root/." && printf '%s\n' "$graded" | sed -n 's/^=//p' | tr '\n' '\0' | xargs -0 -r cp -a --parents -t "$tx/old" --; } 2>&1) || refuse "$said"
edits keep
if [ -n "$hasaccounts" ]; then said=$(keepaccounts 2>&1) || refuse "$said"; fi
about='originals'
said=$({ cd "$tx/old" && keeping | xargs -0 -r sync --; } 2>&1) || refuse "$said"
edits preserve
originalhashes
sync "$originals"
point saved
# From here on, the script completes the write or undoes it.
if [ -e "$applied" ]; then cp "$applied" "$tx/applied"; fi
trap '' TERM INT
phase=writing
about=$applied
attempt record "$tx/new/before" || refuse "$said"
point before
about=units
units early
accounts=$hasaccounts
groups
point groups
users
point users
edits belated
edits swap
edits hardlink
edits leave
about='directories'
said=$({ directories | xargs -0 -r sync --; } 2>&1) || refuse "$said"
point replaced
keys
point keys
about=units
units late
point units
phase=written
trap - EXIT TERM INT
sweep "$tx/rooms"
rm -f "$tx/rooms"
cd /
point written
