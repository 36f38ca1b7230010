# The ref is set to the planned commit, as if it were the remote's latest, so
# that the deployment's origin stays a ref while its content is pinned.
# Signatures are checked as the remote is configured on the host.
stage() {
	smooth=
	if [ -n "$etcd" ]; then
		case $(ostree pull --help 2>&1) in
		*--per-object-fsync*) smooth=--per-object-fsync ;;
		*) ostree config --repo="$repo" set core.per-object-fsync true ;;
		esac
	fi
	ostree pull $smooth "$remote" "$ref@$digest"
	ostree admin deploy --lock-finalization "$remote:$ref"
}
