# read_status reads "ostree admin status". It calls a function for each deployment, the next one to boot first, until
# the function fails. It sets for the function: running (yes for the booted deployment, or nothing), osname, id
# (COMMIT.SERIAL) and marks, such as " (staged)". Lines of deployments begin in the first two columns, all other lines
# further right. It fails if ostree does. Argument: function.
read_status() {
	status=$(ostree admin status) || return 1
	while IFS= read -r line; do
		case $line in
		'* '[!\ ]*) running=yes ;;
		'  '[!\ ]*) running='' ;;
		*) continue ;;
		esac
		line=${line#??}
		osname=${line%% *}
		line=${line#* }
		id=${line%% *} marks=${line#"${line%% *}"}
		"$1" || return 0
	done <<END
$status
END
}

# is_staged reports whether the marks are those of the staged deployment.
is_staged() {
	case $marks in
	*' (finalization locked)'* | *' (staged)'*) ;;
	*) return 1 ;;
	esac
}
