# Checks that a reboot returns to the running OS. A staged and locked deployment does
# not take effect: the reboot drops it, and a later run stages it again. It needs: boot
# (ID of the boot in the plan).
if is_boot_gone; then refuse_changed "reboot: $problem"; fi
if [ -e "$deployment" ]; then
	read_staged
	[ "$locked" != no ] || refuse_changed "reboot: $staged is staged and not locked, so it would boot that; ostree admin undeploy 0 takes it away"
fi
