# bootc switch cannot stage a locked deployment. (bootc upgrade can, but does nothing
# for an image that is pinned by digest.) So the script sets the lock of ostree first.
# Replacing a staged deployment would remove this lock, so the script first removes the
# staged deployment, which always has index 0.
stage_os() {
	if [ -n "$etcd" ]; then ostree config --repo="$repo" set core.per-object-fsync true; fi
	options=$policy
	case $(bootc switch --help 2>&1) in
	*--download-only*) options="$options --download-only" ;;
	esac
	read_staged
	if [ -n "$staged" ]; then ostree admin undeploy 0; fi
	lock_by_file
	# shellcheck disable=SC2086 # options are words
	if ! ${mirrored:+run_with_registries} bootc switch $options "$image"; then
		rm -rf "$registries"
		read_staged # bootc stages the OS, and pulls the images that are bound to it afterwards
		if [ -z "$staged" ] || ostree admin undeploy 0; then rm -f "$lockfile"; fi
		return 1
	fi
	rm -rf "$registries"
	lock_staged
}
