# read_deployments reads the deployments. It sets three variables to commits: booted, first
# (the next to boot, unless one is staged) and marked (the rollback deployment of the
# tools). It sets index, osname and version (COMMIT.SERIAL) of the previous OS, or sets
# them to nothing if the host no longer has that OS. It needs: previous (commit).
read_deployments() {
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
