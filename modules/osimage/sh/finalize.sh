# Checks that the staged deployment may take effect. If anything differs from the plan,
# the script ends before it changes anything. It needs: boot (ID of the boot in the
# plan).
now=$(cat /proc/sys/kernel/random/boot_id)
[ "$now" = "$boot" ] || changed "finalize: the host has rebooted since it was planned"
look
[ -n "$staged" ] || changed "finalize: nothing is staged"
planned || changed "finalize: $staged is staged, which is not $digest"
argued || changed "finalize: $staged is staged with other kernel arguments than planned"
[ "$locked" = yes ] || changed "finalize: $staged is not locked any more"
# This service works when it is stopped, at shutdown, so it must be running.
systemctl start ostree-finalize-staged.service || changed "finalize: ostree-finalize-staged.service does not start"
