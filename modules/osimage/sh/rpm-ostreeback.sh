restore_previous() { rpm-ostree rollback; }

# restore_running makes the running OS the default if another one is. rpm-ostree would put the
# deployment after the running one on top, such as a pinned one, and the running one only if
# none follows it: then marked is empty.
restore_running() {
	ostree admin set-default "$bootedindex" || { [ -z "$marked" ] && rpm-ostree rollback; }
}
drop_staged() { rpm-ostree cleanup --pending; }
