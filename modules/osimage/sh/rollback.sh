# Checks that the host runs the failed OS and still has the previous one, and records
# that the host rejects the failed one. It changes nothing else. It needs: bad and good
# (their digests), previous (commit of the good one), tool (update tool of the host),
# rejected (file of rejected digests).
refuse_rollback() {
	printf '%s\n' "rollback: $*; nothing was done" >&2
	exit 79
}
read_deployments
runs=${booted%.*}
deployment_is_os "$booted" "$bad" || {
	if [ "$runs" = "$previous" ] || deployment_is_os "$booted" "$good"; then
		refuse_changed "rollback: the host runs $good already, and not $bad"
	fi
	refuse_changed "rollback: the host runs $runs, which is not $bad"
}
[ -n "$index" ] || refuse_rollback "the host has not got $good any more, so there is nothing to go back to"
case $tool in
ostree) ;;
*) [ "${first%.*}" = "$previous" ] || [ "$marked" = "$previous" ] || refuse_rollback "$tool would go back to ${marked:-nothing}, which is not $good" ;;
esac
commit=$previous
case $tool:$(ostree admin --help 2>&1) in
bootc:*set-default*) ;;
bootc:*) [ -n "$(print_metadata ostree.manifest-digest)" ] || refuse_rollback "bootc goes back only to images, and $good is none" ;;
esac

# The file keeps only the latest digests, in order: no others are needed.
rm -f "$rejected".*
umask 077
{
	if [ -f "$rejected" ]; then
		tail -n 99 "$rejected" | while IFS= read -r line || [ -n "$line" ]; do
			[ "$line" = "$bad" ] || say "$line"
		done
	fi
	say "$bad"
} >"$rejected.$$"
sync "$rejected.$$"
mv -fT "$rejected.$$" "$rejected"
sync "${rejected%/*}"
