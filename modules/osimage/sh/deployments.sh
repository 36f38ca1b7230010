# read_deployments reads the deployments. It sets booted and first (the next to boot, unless
# one is staged) to COMMIT.SERIAL, because deployments of one commit may have other kernel
# arguments, and marked (the rollback deployment of the tools) to a commit. It sets
# bootedindex, and index, osname and version (COMMIT.SERIAL) of the previous OS, or sets them
# to nothing if the host no longer has that OS. It fails if ostree does. It needs: previous
# (commit).
read_deployments() {
	booted='' bootedindex='' first='' marked='' index='' previousname='' version=''
	n=-1
	read_status note_deployment || return 1
	osname=$previousname
}

note_deployment() {
	n=$((n + 1))
	if is_staged; then return 0; fi
	first=${first:-$id}
	if [ -n "$running" ]; then
		booted=$id bootedindex=$n
		return 0
	fi
	case $marks in *' (rollback)'*) marked=${id%.*} ;; esac
	if [ "${id%.*}" = "$previous" ] && [ -z "$index" ]; then
		index=$n previousname=$osname version=$id
	fi
}
