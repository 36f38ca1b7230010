# The ref is set to the planned commit, as if it were the latest of the remote, so that
# the origin of the deployment stays a ref while its content is pinned. Signatures are
# checked as configured for the remote on the host, also with the URL of the bastion,
# which replaces only the address of the remote.
#
# Before a version between 2022.7 and 2025.2, a lock alone does not mean to stage: the
# deployment would be written at once, to be booted next.
#
# With an origin, the booted commit is deployed once more, with that file for its
# origin, without the settings of one deployment alone, such as its pin. Kernel
# arguments come from the booted deployment; additions are applied before the first ones
# of a kind are deleted.
stage() {
	if [ -n "$origin" ]; then
		origin "$origin"
		ostree admin deploy --stage --lock-finalization --origin-file="$work/origin" "$@" "$digest"
		rm -f "$work/origin"
		return
	fi
	smooth=
	if [ -n "$etcd" ]; then
		case $(ostree pull --help 2>&1) in
		*--per-object-fsync*) smooth=--per-object-fsync ;;
		*) ostree config --repo="$repo" set core.per-object-fsync true ;;
		esac
	fi
	ostree pull $smooth ${port:+"--url=http://127.0.0.1:$port/ostree"} "$remote" "$ref@$digest"
	ostree admin deploy --stage --lock-finalization "$@" "$remote:$ref"
}
