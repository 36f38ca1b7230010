# The daemon does the work, so it gets the priorities of the unit for that time. It must start
# again to get them. An idle daemon can be stopped without harm; a busy one is not stopped.
#
# An image from the bastion needs a daemon that has started with the mounts. The client may be
# killed, so the unit removes the mounts when the unit ends.
#
# An already staged deployment would pass on its kernel arguments, and versions before 2024.6 lose
# the lock of a deployment that replaces it. So the script removes it first.
stage_os() {
	dropin=/run/systemd/system/rpm-ostreed.service.d
	trap 'rm -f "$dropin/50-holdfast.conf"; rmdir "$dropin" 2>/dev/null; systemctl daemon-reload' EXIT
	mkdir -p "$dropin"
	printf '[Service]\nIOSchedulingClass=idle\nIOWeight=1\nCPUWeight=1\nNice=19\n' >"$dropin/50-holdfast.conf"
	if [ -n "$mirrored" ]; then
		write_registries
		for dir in registries.conf.d registries.d; do
			say "BindReadOnlyPaths=$registries/$dir:/etc/containers/$dir"
		done >>"$dropin/50-holdfast.conf"
	fi
	systemctl daemon-reload
	case $(rpm-ostree status) in
	'State: idle'*) systemctl stop rpm-ostreed.service ;;
	*) [ -z "$mirrored" ] || {
		say "rpm-ostree is busy; the image from the bastion needs its daemon to start once more"
		return 1
	} ;;
	esac
	if [ -n "$etcd" ]; then ostree config --repo="$repo" set core.per-object-fsync true; fi

	read_staged
	if [ -n "$staged" ]; then rpm-ostree cleanup --pending; fi
	lock_by_file
	if [ -n "$image$ref" ]; then rebase_os; fi
	if [ $# -gt 0 ]; then rpm-ostree kargs --lock-finalization "$@"; fi
}

# shellcheck disable=SC2086 # options are words
rebase_os() {
	options=--lock-finalization
	case $(rpm-ostree rebase --help 2>&1) in
	*--bypass-driver*) options="$options --bypass-driver" ;;
	esac
	if [ -n "$image" ]; then
		rpm-ostree rebase $options "$image"
		return
	fi
	# rpm-ostree refuses a rebase to the ref that it already follows. Only in this case
	# the script uses rpm-ostree deploy. Without an option, which only deploy has, the commit
	# must be in the history of the newest commit of the ref.
	refused=$work/rebase.err
	if rpm-ostree rebase $options "$remote:$ref" "$digest" 2>"$refused"; then return; fi
	cat "$refused"
	case $(cat "$refused") in
	*'refs are equal'*) ;;
	*) return 1 ;;
	esac
	case $(rpm-ostree deploy --help 2>&1) in
	*--skip-branch-check*) options="$options --skip-branch-check" ;;
	esac
	rpm-ostree deploy $options "$digest"
}
