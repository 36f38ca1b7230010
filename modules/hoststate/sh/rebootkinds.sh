# Prints what decides about the kind of a reboot: the version of systemd, and the kinds that
# somebody has prepared. It starts no process. It reads systemd (see the probe of the boot).
case ${systemd-} in
*Version=*)
	version=${systemd##*Version=}
	printf 'systemd %s\n' "${version%%[!0-9]*}"
	;;
esac
case ${systemd-} in *SoftRebootsCount=[0-9]*) echo 'systemd counts' ;; esac
# An empty directory remains if somebody takes the preparation back. systemd looks for the same files.
if [ -e /run/nextroot/usr/lib/os-release ] || [ -e /run/nextroot/etc/os-release ]; then echo 'prepared soft'; fi
if read -r loaded 2>/dev/null </sys/kernel/kexec_loaded && [ "$loaded" = 1 ]; then echo 'prepared kexec'; fi
