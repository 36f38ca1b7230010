# Prints a file of the host. It needs: path, and limit (in bytes).
follow_path "$path" || {
	case $? in
	1) printf '%s\n' "No such file or directory" >&2 ;;
	*) printf '%s\n' "a symbolic link on the way to it is in a directory that others than root can change; name the path it leads to" >&2 ;;
	esac
	exit 1
}
[ -f "./$name" ] || {
	printf '%s\n' "there is no such file" >&2
	exit 1
}
timeout -k 1 20 dd if="./$name" bs="$limit" count=1 iflag=nofollow,nonblock,fullblock status=none
