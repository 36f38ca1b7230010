# walk_disk looks at a disk and the disks that it is made of. Arguments: folder of the disk in /sys, depth.
walk_disk() {
	[ "$2" -le 8 ] || return 0
	if is_remote "$1"; then printf 'remote %s\n' "${real##*/}"; fi
	if read -r uuid 2>/dev/null <"$1/dm/uuid" && read -r disk <"$1/dm/name"; then
		case $uuid in CRYPT-*) print_closing "$disk" ;; esac
	fi
	if [ -e "$1/partition" ]; then walk_disk "$1/.." $(($2 + 1)); fi
	for below in "$1"/slaves/*; do
		[ ! -e "$below" ] || walk_disk "$below" $(($2 + 1))
	done
}

# is_remote reports whether a disk is on the network. It sets real. Argument: folder of the disk in /sys.
is_remote() {
	real=$(readlink -f -- "$1") || return 1
	case $real in */session[0-9]*/* | */nbd[0-9]* | */rbd[0-9]* | */drbd[0-9]*) return 0 ;; esac # the first is iSCSI
	for file in "$real"/../transport "$real"/../nvme*/transport; do
		if read -r transport 2>/dev/null <"$file"; then
			case $transport in tcp | rdma) return 0 ;; esac
		fi
	done
	return 1
}

# print_closing prints the unit of an encrypted disk if systemd stops it when it unmounts. With x-initrd.attach in
# /etc/crypttab it does not.
print_closing() {
	unit=$(systemd-escape --template=systemd-cryptsetup@.service -- "$1") || return 0
	case " $(systemctl show --property=Conflicts --value "$unit") " in
	*' umount.target '*) printf 'closes %s\n' "$unit" ;;
	esac
}

# walk_mounts looks at the file systems of the OS and their disks. A btrfs has no device number of a disk, so its source counts.
walk_mounts() {
	while read -r _ _ number _ target rest; do
		case $target in / | /etc | /usr | /var | /boot | /sysroot) ;; *) continue ;; esac
		folder=/sys/dev/block/$number
		if [ ! -e "$folder" ]; then
			rest=${rest#* - }
			type=${rest%% *}
			rest=${rest#* }
			source=${rest%% *}
			case $type:$source in
			nfs*:* | ceph*:* | cifs:* | 9p:*) printf 'remote %s\n' "$type" && continue ;;
			*:/dev/*) source=$(readlink -f -- "$source") || continue ;;
			*) continue ;;
			esac
			folder=/sys/class/block/${source##*/}
		fi
		walk_disk "$folder" 0
	done </proc/self/mountinfo
}

# print_lost_disks prints "closes UNIT" for units that a soft reboot stops, and that close an encrypted disk below the file systems
# of the OS, and "remote DISK" for disks and file systems of the OS on the network, whose programs it stops. Nothing opens or connects
# such a disk again, because the initramfs does not run: the host ends in its emergency shell.
print_lost_disks() { walk_mounts | sort -u | head -n 8; }
