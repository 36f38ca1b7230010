# Checks that a reboot returns to the running OS. A staged and locked deployment does
# not take effect: the reboot drops it, and a later run stages it again. It needs: boot
# (ID of the boot in the plan).
now=$(cat /proc/sys/kernel/random/boot_id)
[ "$now" = "$boot" ] || changed "reboot: the host has rebooted since it was planned"
if [ -e "$deployment" ]; then
	look
	[ "$locked" != no ] || changed "reboot: $staged is staged and not locked, so it would boot that; ostree admin undeploy 0 takes it away"
fi
