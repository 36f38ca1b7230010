# The ref is set to the planned commit, as if it were the remote's latest, so
# that the deployment's origin stays a ref while its content is pinned.
# Signatures are checked as the remote is configured on the host.
#
# With an origin it is the booted commit that is deployed once more, with that
# file for its origin, but for what belongs to a deployment alone, like being
# pinned. Kernel arguments come from the booted deployment; those to append are
# added before the first ones of a kind are deleted.
stage() {
	if [ -n "$origin" ]; then
		origin "$origin"
		ostree admin deploy --lock-finalization --origin-file="$work/origin" "$@" "$digest"
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
	ostree pull $smooth "$remote" "$ref@$digest"
	ostree admin deploy --lock-finalization "$@" "$remote:$ref"
}
