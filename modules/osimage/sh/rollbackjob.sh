# prepare makes the previous OS the one to boot next. It removes a staged deployment,
# which would be booted instead, or hide the previous one from the tools. A second call
# must find that nothing is left to do: the tools would swap the two once more. It
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
