# Checks that a reboot returns to the running OS. A staged and locked deployment does
# not take effect: the reboot drops it, and a later run stages it again. It needs: boot
# (ID of the boot in the plan), and deployments.sh.
if is_boot_gone; then refuse_changed "reboot: $problem"; fi
previous=''
if [ -e /run/ostree-booted ]; then # else the host has no ostree
	read_deployments 2>/dev/null || {
		problem=$(read_deployments 2>&1) || :
		refuse_changed "reboot: ostree does not list the deployments, so the OS that the host would boot is not known: $problem"
	}
	if [ -n "$booted" ] && [ "$first" != "$booted" ]; then # somebody has changed the default, for example by a rollback
		refuse_changed "reboot: the host would boot $first, not the running $booted; make the running OS the default again: ostree admin set-default $bootedindex, or with bootc: bootc rollback"
	fi
fi
if has_unlocked_staged; then refuse_changed "reboot: $problem"; fi
