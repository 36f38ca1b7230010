# Prints what decides about a soft reboot: "prepares" if ostree can prepare one, and
# "composefs" if the root is one. For a staged deployment it also prints the checksums of directories of the booted and the staged tree. Only a
# boot of the kernel brings some of them into effect. It reads json (see askstatus.sh), which is
# there from ostree 2025.3 on, as is prepare-soft-reboot. It needs: parts (the pattern of their paths).
[ -n "${json-}" ] || exit 0
echo prepares
grep -q '^composefs / overlay ' /proc/self/mounts || exit 0
echo composefs
[ -e /run/ostree/staged-deployment ] || exit 0
booted='' staged=''
status=$(ostree admin status)
while IFS= read -r line; do
	case $line in
	'* '[!\ ]*) mark=booted ;;
	'  '[!\ ]*' (finalization locked)'* | '  '[!\ ]*' (staged)'*) mark=staged ;;
	*) continue ;;
	esac
	line=${line#? }
	id=${line#* }
	case $mark in
	booted) booted=${booted:-${id%%.*}} ;;
	staged) staged=${staged:-${id%%.*}} ;;
	esac
done <<END
$status
END
[ -n "$booted" ] && [ -n "$staged" ] || exit 0
for commit in "$booted" "$staged"; do
	echo "commit $commit"
	# A tree without SELinux may lack the last directory.
	timeout 20 ostree ls --repo=/ostree/repo -C "$commit" /usr/lib /usr/lib/modules /usr/etc 2>/dev/null | grep -E " ($parts)\$" | head -c 8000
done
