restore_previous() { rpm-ostree rollback; }

# restore_running makes the running OS the default if another one is. rpm-ostree rollback is only
# the fallback, and only if no deployment follows the running one (marked is empty): it would put
# that deployment first, such as a pinned one.
restore_running() {
	ostree admin set-default "$bootedindex" || { [ -z "$marked" ] && rpm-ostree rollback; }
}
drop_staged() { rpm-ostree cleanup --pending; }
