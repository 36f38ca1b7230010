# read_boot_id sets bootid to the ID of this boot (resource.BootID), or to nothing if it is not
# known, and systemd to the answer of systemd. A systemd that cannot soft reboot, or does not
# count, has no SoftRebootsCount. Without an answer the boot is not known: it must never look
# like another one.
read_boot_id() {
	bootid='' softreboots=''
	systemd=$(systemctl show --property=Version --property=SoftRebootsCount) || return 0
	read -r bootid </proc/sys/kernel/random/boot_id || bootid=''
	case $systemd in
	*SoftRebootsCount=*) softreboots=${systemd##*SoftRebootsCount=} ;;
	esac
	softreboots=${softreboots%%[!0-9]*}
	case $softreboots in
	'' | 0) ;;
	*) bootid=${bootid:+$bootid+$softreboots} ;;
	esac
}
