# read_status reads "ostree admin status". It calls a function for each deployment, the next one to boot first, until
# the function fails. It sets for the function: running (yes for the booted deployment, or nothing), osname, id
# (COMMIT.SERIAL) and marks, such as " (staged)". Lines of deployments begin in the first two columns, all other lines
# further right. It fails if ostree does. It uses no here-document, for which a bash before 5.1 needs space in /tmp. Argument:
# function.
read_status() {
	status=$(ostree admin status) || return 1
	unread=$status
	newline='
'
	while [ -n "$unread" ]; do
		line=${unread%%"$newline"*}
		unread=${unread#"$line"}
		unread=${unread#"$newline"}
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
	done
}

# is_staged reports whether the marks are those of the staged deployment.
is_staged() {
	case $marks in
	*' (finalization locked)'* | *' (staged)'*) ;;
	*) return 1 ;;
	esac
}
