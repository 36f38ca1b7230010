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
	# From 1.5 on, bootc requests a reboot when it has staged, which kured carries out. If nobody has
	# requested one before, the file is removed at once, or, after a kill, by the command after of stage.sh.
	rm -f "$work/no-reboot-request"
	[ -e /run/reboot-required ] || : >"$work/no-reboot-request"
	# shellcheck disable=SC2086 # options are words
	if ! ${mirrored:+run_with_registries} bootc switch $options "$image"; then
		rm -rf "$registries"
		read_staged # bootc stages the OS, and pulls the images that are bound to it afterwards
		if [ -z "$staged" ] || ostree admin undeploy 0; then rm -f "$lockfile"; fi
		return 1
	fi
	if [ -e "$work/no-reboot-request" ]; then rm -f /run/reboot-required; fi
	rm -rf "$registries"
	lock_staged
}
