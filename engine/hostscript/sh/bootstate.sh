# print_boot_state prints a digest of the names, sizes, modes and owners of the files in
# /boot, and of the size of its file system. It omits the stamp of a failed finalize, which
# the next boot removes. Without /boot/ostree it prints nothing.
print_boot_state() (
	cd /boot/ostree 2>/dev/null && cd .. || exit 0
	{
		df -Pk . | while read -r device kib _; do printf '%s\n' "$device $kib"; done
		# shellcheck disable=SC2012 # the names only become part of a digest
		LC_ALL=C ls -lRn --time-style=+ -I finalize-failure.stamp . | sed '/^total /d'
	} | sha256sum | cut -c1-64
)
