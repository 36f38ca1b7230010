# Prints what decides about the kind of a reboot: the version of systemd, the kinds that
# somebody has prepared, and whether the host can kexec. It starts a process only on a host with
# kexec: the one that reads which boot loader has started the kernel. It reads systemd (see the probe of the boot).
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
kexec=possible lockdown='' off='' limit=''
# dash reads single bytes, and files below /proc/sys have only a first one: read fails, and has set the variable.
read -r off 2>/dev/null </proc/sys/kernel/kexec_load_disabled || :
read -r limit 2>/dev/null </proc/sys/kernel/kexec_load_limit_reboot || :
if [ -e /run/systemd/container ]; then
	kexec=container
elif [ ! -e /sys/kernel/kexec_loaded ]; then
	kexec=no-kernel
elif [ "${off:-0}" != 0 ] || [ "$limit" = 0 ]; then
	kexec=disabled
elif read -r lockdown 2>/dev/null </sys/kernel/security/lockdown && [ "${lockdown#*'[none]'}" = "$lockdown" ]; then
	kexec=lockdown
elif ! command -v kexec >/dev/null; then
	kexec=no-kexec-tools
fi
printf 'kexec %s\n' "$kexec"
case $kexec in
possible | disabled | lockdown)
	# cat, because dash would read the first digit
	if loader=$(cat /proc/sys/kernel/bootloader_type 2>/dev/null); then printf 'loader %s\n' "$loader"; fi
	;;
esac
