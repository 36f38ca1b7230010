# deployments looks at what the host boots. It sets, to commits, booted, first
# (what it boots next, unless one is staged) and marked (what its tools take for
# the one to roll back to), and of the previous OS: index, osname and version
# (COMMIT.SERIAL), or nothing if the host has not got it any more.
# It needs: previous (commit).
deployments() {
	booted='' first='' marked='' index='' osname='' version=''
	n=-1
	status=$(ostree admin status)
	while IFS= read -r line; do
		case $line in
		'* '[!\ ]* | '  '[!\ ]*) ;;
		*) continue ;;
		esac
		name=${line#??}
		id=${name#* }
		name=${name%% *}
		id=${id%% *}
		n=$((n + 1))
		case $line in
		*' (finalization locked)'* | *' (staged)'*) continue ;;
		esac
		first=${first:-${id%.*}}
		case $line in
		'*'*)
			booted=${id%.*}
			continue
			;;
		*' (rollback)'*) marked=${id%.*} ;;
		esac
		if [ "${id%.*}" = "$previous" ] && [ -z "$index" ]; then
			index=$n osname=$name version=$id
		fi
	done <<END
$status
END
}
