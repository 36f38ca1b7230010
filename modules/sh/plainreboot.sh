# Checks that a reboot comes back with the OS that runs now. A deployment that
# is staged and locked does not take effect; it is lost, and staged again by
# who wants it. It needs: boot (ID of the boot that was planned for).
now=$(cat /proc/sys/kernel/random/boot_id)
[ "$now" = "$boot" ] || changed "reboot: the host has rebooted since it was planned"
if [ -e "$deployment" ]; then
	look
	[ "$locked" != no ] || changed "reboot: $staged is staged and not locked, so it would boot that; ostree admin undeploy 0 takes it away"
fi
