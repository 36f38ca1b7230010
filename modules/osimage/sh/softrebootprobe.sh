# Prints what decides about a soft reboot: "prepares" if ostree can prepare one, "keeps-mounts" and "keeps-boot" if ostree keeps file
# systems mounted (see readSoftReboot), "composefs" if the root is one, and the disks that it would lose (see disks.sh). For a staged deployment it also prints the checksums of files and directories of the booted and the staged
# tree that only a boot of the kernel brings into effect, if the host can soft reboot or kexec into it. It reads json (see jsonstatus.sh), which is
# there from ostree 2025.3 on, as is prepare-soft-reboot, and release. It needs: parts and folders (patterns of the compared paths, and of the folders
# below /usr/lib and /usr/etc that have such paths).
compared=''
if [ -n "${json-}" ]; then
	print_lost_disks
	if [ "${release:-0}" -ge 202601 ]; then echo keeps-mounts; fi
	bootfolder=/sysroot/boot # a link "loader" in it shows that /boot is no partition, as for ostree itself
	if [ "${release:-0}" -ge 202505 ] || [ ! -L "$bootfolder/loader" ]; then echo keeps-boot; fi
	echo prepares
	if grep -q '^composefs / overlay ' /proc/self/mounts; then
		echo composefs
		compared=yes
	fi
fi
if [ -e /sys/kernel/kexec_loaded ] && command -v kexec >/dev/null; then compared=yes; fi
[ -n "$compared" ] || exit 0
[ -e /run/ostree/staged-deployment ] || exit 0
booted='' staged=''
note_commits() {
	if [ -n "$running" ]; then
		booted=${booted:-${id%%.*}}
	elif is_staged; then
		staged=${staged:-${id%%.*}}
	fi
}
read_status note_commits
[ -n "$booted" ] && [ -n "$staged" ] || exit 0
# list_folders prints one line for each entry of folders of a tree, with its checksums, and then "whole" if all of them are
# there: ostree ends at a folder that is missing.
list_folders() { { timeout 20 ostree ls --repo=/ostree/repo -C "$commit" "$@" 2>/dev/null && echo whole; } | head -c 1000000; }

# print_parts prints the lines of the compared paths. The checksum of a link includes its target.
print_parts() { sed -nE "s/ -> .*//; \\#^whole\$| ($parts)\$#p" | head -c 32000; }

for commit in "$booted" "$staged"; do
	echo "commit $commit"
	top=$(list_folders /usr/lib /usr/etc)
	printf '%s\n' "$top" | print_parts
	# Of the folders that have compared paths, only those that the tree has
	below=$(printf '%s\n' "$top" | sed -nE "s#^d.* ($folders)\$#\\1#p")
	# shellcheck disable=SC2086 # the folders are words
	if [ -n "$below" ]; then list_folders $below | print_parts; fi
done
