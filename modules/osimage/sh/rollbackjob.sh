# prepare makes the previous OS the one to boot next. It removes a staged deployment,
# which would be booted instead, or would hide the previous OS from the tools. A second
# call must change nothing, because the tools would swap the two deployments again. It
# needs: previous (commit), good (digest), and the functions drop and restore.
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
