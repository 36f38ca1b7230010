# Checks that the staged deployment may take effect. If anything differs from the plan,
# the script ends before it changes anything. It needs: boot (ID of the boot at the time
# of the plan).
now=$(cat /proc/sys/kernel/random/boot_id)
[ "$now" = "$boot" ] || changed "finalize: the host has rebooted since it was planned"
look
[ -n "$staged" ] || changed "finalize: nothing is staged"
planned || changed "finalize: $staged is staged, which is not $digest"
argued || changed "finalize: $staged is staged with other kernel arguments than planned"
[ "$locked" = yes ] || changed "finalize: $staged is not locked any more"
# It does its work when it is stopped, so it has to be running.
systemctl start ostree-finalize-staged.service || changed "finalize: ostree-finalize-staged.service does not start"
