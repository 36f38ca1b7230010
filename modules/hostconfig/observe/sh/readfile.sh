# Prints a file of the host. It needs: path, limit (in bytes), and missing (the exit status if there is no such file).
follow_path "$path" || {
	case $? in
	1)
		printf '%s\n' "No such file or directory" >&2
		exit "$missing"
		;;
	*) printf '%s\n' "a symbolic link on the way to it is in a directory that others than root can change; name the path it leads to" >&2 ;;
	esac
	exit 1
}
[ -e "./$name" ] || [ -L "./$name" ] || {
	printf '%s\n' "No such file or directory" >&2
	exit "$missing"
}
[ -f "./$name" ] || {
	printf '%s\n' "it is not a regular file" >&2
	exit 1
}
timeout -k 1 20 dd if="./$name" bs="$limit" count=1 iflag=nofollow,nonblock,fullblock status=none
