# prepare makes the previous OS the one that is booted next. What is staged would
# be booted instead, or hide it from the tools, so it goes. Done again it finds
# that there is nothing left to do: the tools would swap the two once more.
# It needs: previous (commit), good (digest), and the functions drop and restore.
prepare() {
	look
	if [ -n "$staged" ]; then drop; fi
	deployments
	if [ "$first" != "$previous" ]; then restore; fi
	look
	deployments
	[ -z "$staged" ] && [ "$first" = "$previous" ] || {
		say "rollback: the host would still not boot $good, but ${staged:-$first}"
		exit 1
	}
}
