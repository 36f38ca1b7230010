# Checks that a reboot returns to the running OS. A staged and locked deployment does
# not take effect: the reboot drops it, and a later run stages it again. It needs: boot
# (ID of the boot in the plan), and deployments.sh.
if is_boot_gone; then refuse_changed "reboot: $problem"; fi
if [ -e "$deployment" ]; then
	read_staged
	[ "$locked" != no ] || refuse_changed "reboot: $staged is staged and not locked, so it would boot that; ostree admin undeploy 0 takes it away"
fi
previous=''
if read_deployments 2>/dev/null && [ -n "$booted" ] && [ "$first" != "$booted" ]; then # somebody has changed the default, for example by a rollback
	refuse_changed "reboot: the host would boot $first, not the running $booted; make the running OS the default again: ostree admin set-default $bootedindex, or with bootc: bootc rollback"
fi
