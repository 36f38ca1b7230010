# is_boot_gone reports whether the host is no longer in the boot of the plan, and sets problem to
# the reason. It needs: boot (the ID of that boot).
is_boot_gone() {
	read_boot_id
	[ "$bootid" != "$boot" ] || return 1
	problem="the host has rebooted since it was planned"
	[ -n "$bootid" ] || problem="systemd does not answer, so the boot of the host is not known"
}
