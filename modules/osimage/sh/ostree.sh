# The script sets the ref to the planned commit, as if this were the latest commit of
# the remote. So the origin of the deployment stays a ref, and its content is pinned.
# Signatures are checked as configured for the remote on the host. The URL of the
# bastion replaces only the address of the remote.
#
# Before a version between 2022.7 and 2025.2, a lock alone does not mean to stage:
# ostree would write the deployment at once, to be booted next.
#
# With an origin, the script deploys the booted commit again, with a copy of that file
# as its origin. Kernel arguments come from the booted deployment. ostree adds
# arguments before it deletes the first ones of a kind.
stage_os() {
	if [ -n "$origin" ]; then
		copy_origin "$origin"
		lock_by_file
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
	lock_by_file
	ostree admin deploy --stage --lock-finalization "$@" "$remote:$ref"
}
