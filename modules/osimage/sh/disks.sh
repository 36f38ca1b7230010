# walk_disk looks for encryption in a disk and the disks that it is made of. Arguments: folder of the disk in /sys, depth.
walk_disk() {
	[ "$2" -le 8 ] || return 0
	if read -r uuid 2>/dev/null <"$1/dm/uuid" && read -r disk <"$1/dm/name"; then
		case $uuid in CRYPT-*) print_closing "$disk" ;; esac
	fi
	if [ -e "$1/partition" ]; then walk_disk "$1/.." $(($2 + 1)); fi
	for below in "$1"/slaves/*; do
		[ ! -e "$below" ] || walk_disk "$below" $(($2 + 1))
	done
}

# print_closing prints the unit of an encrypted disk if systemd stops it when it unmounts. With x-initrd.attach in
# /etc/crypttab it does not.
print_closing() {
	unit=$(systemd-escape --template=systemd-cryptsetup@.service -- "$1") || return 0
	case " $(systemctl show --property=Conflicts --value "$unit") " in
	*' umount.target '*) printf 'closes %s\n' "$unit" ;;
	esac
}

# walk_mounts looks at the disks of the file systems of the OS. A btrfs has no device number of a disk, so its source counts.
walk_mounts() {
	while read -r _ _ number _ target rest; do
		case $target in / | /etc | /usr | /var | /boot | /sysroot) ;; *) continue ;; esac
		folder=/sys/dev/block/$number
		if [ ! -e "$folder" ]; then
			rest=${rest#* - * }
			source=${rest%% *}
			case $source in /dev/*) source=$(readlink -f -- "$source") || continue ;; *) continue ;; esac
			folder=/sys/class/block/${source##*/}
		fi
		walk_disk "$folder" 0
	done </proc/self/mountinfo
}

# print_closing_units prints "closes UNIT" for the first unit that a soft reboot stops, and that closes an encrypted disk below the
# file systems of the OS. Nothing opens such a disk again, because the initramfs does not run: the host ends in its emergency shell.
print_closing_units() {
	for encrypted in /sys/class/block/dm-*; do
		[ -e "$encrypted" ] || return 0
		walk_mounts | head -n 1
		return 0
	done
}
