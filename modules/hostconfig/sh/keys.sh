# Runs as the user whose SSH keys are on standard input, one a line. Arguments:
# home, and the place of the keys: fragment (a separate file) or block (lines in
# authorized_keys; other lines stay).
set -eu
umask 077
export LC_ALL=C
keys=$(cat)
cd "$1"
begin='# BEGIN holdfast'
end='# END holdfast'

# replace_file writes standard input to a file.
replace_file() {
	cat >"$1.holdfast"
	sync "$1.holdfast"
	mv -fT "$1.holdfast" "$1"
	sync "${1%/*}"
}

# print_other_lines prints the lines of standard input outside our block. It ignores the
# start of a block that has no end.
print_other_lines() {
	block='' inside=''
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		"$begin")
			printf %s "$block"
			block='' inside=yes
			;;
		"$end") block='' inside='' ;;
		*)
			if [ -n "$inside" ]; then
				block="$block$line
"
			else
				printf '%s\n' "$line"
			fi
			;;
		esac
	done
	printf %s "$block"
}

list=.ssh/authorized_keys
if [ -n "$keys" ] && [ ! -d .ssh ]; then mkdir .ssh; fi
if [ "$2" = fragment ]; then
	own=.ssh/authorized_keys.d/ignition
	if [ -n "$keys" ]; then
		[ -d .ssh/authorized_keys.d ] || mkdir .ssh/authorized_keys.d
		printf '%s\n' "$keys" | replace_file "$own"
	else
		rm -f "$own"
	fi
	keys=
fi
text='' rest=''
if [ -e "$list" ]; then
	text=$(dd if="$list" bs=1048576 count=1 iflag=nonblock,fullblock status=none && echo .)
	text=${text%.}
	if [ "$(stat -Lc %s "$list")" -gt 1048576 ]; then
		echo "$1/$list has more than 1 MiB; remove some by hand" >&2
		exit 1
	fi
	rest=$(printf %s "$text" | print_other_lines && echo .)
	rest=${rest%.}
fi
if [ -n "$keys" ]; then
	printf '%s%s\n%s\n%s\n' "$rest" "$begin" "$keys" "$end" | replace_file "$list"
elif [ -n "$rest" ]; then
	case "
$text
" in
	*"
$begin
"*) printf %s "$rest" | replace_file "$list" ;;
	esac
elif [ -s "$list" ]; then
	rm -f "$list"
fi
if [ -d .ssh ] && selinuxenabled 2>/dev/null; then restorecon -R .ssh 2>/dev/null || :; fi
