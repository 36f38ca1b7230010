# Makes the reboot of rebootjob.sh a soft reboot, into the staged deployment or, without a digest,
# into the running one. It needs: fallback (yes: a host that cannot soft reboot reboots in full
# instead, and the reason is in $notsoft).
nextroot=/run/nextroot
notsoft=$work/not-soft
soft=yes problem=''

# is_root_prepared reports whether a soft reboot would change the root. systemd looks for the same file.
is_root_prepared() { [ -e "$nextroot/usr/lib/os-release" ] || [ -e "$nextroot/etc/os-release" ]; }

# is_staged_target reports whether the deployment that is or was staged, and no other one, is the target of the next
# soft reboot.
is_staged_target() {
	target=''
	read_status note_target
	[ "$target" = "$staged" ] && is_root_prepared
}

note_target() {
	case $marks in *' (soft-reboot)'*) target=$target$id ;; esac
}

# The time limits leave time for a full reboot if ostree hangs (see is_order_void).
prepare_target() { problem=$(timeout -k 5 30 ostree admin prepare-soft-reboot 0 2>&1); } # the deployment is the first, staged or finalized

# stop_finalization stops the unit that finalizes an unlocked deployment when it is stopped, and the unit that helps it. No soft
# reboot stops the second one, so it would be killed, and would count as failed.
finalizehold=ostree-finalize-staged-hold.service
stop_finalization() { systemctl stop ostree-finalize-staged.service "$finalizehold" || :; }

# finalize_staged makes the staged deployment the default of the boot loader now, and not during the shutdown: an "ostree admin
# status" during the shutdown, by anybody, would take the mark away with which ostree knows the booted deployment afterwards.
# From here on a power cut boots the new OS.
finalize_staged() {
	stop_finalization
	problem="ostree has not finalized $staged"
	[ ! -e "$deployment" ] || return 1
	is_staged_target || { prepare_target && is_staged_target; }
}

# prepare_soft mounts the staged deployment as the next root. /etc of the next root is merged now. A second
# soft reboot leaves ostree-boot-complete.service active if it is not stopped before, and then ostree
# names the wrong deployment as booted.
prepare_soft() {
	systemctl stop ostree-boot-complete.service || :
	if [ -z "$digest" ]; then
		problem="another root is prepared, which ostree admin prepare-soft-reboot --reset 0 takes away"
		if is_root_prepared; then return 1; fi
		stop_finalization
		return 0
	fi
	prepare_target || return 1
	problem="ostree has not prepared $staged"
	is_staged_target
}

prepare_kind() {
	rm -f "$notsoft"
	if prepare_soft; then
		[ -n "$digest" ] || return 0
		if is_order_void; then
			void=yes # it is refused next, and ostree has finalized nothing
			return 0
		fi
		if finalize_staged; then return 0; fi
	fi
	undo_kind
	exec >"$work/finalize.log" 2>&1 # the reason comes first
	say "reboot: the host cannot soft reboot: $problem"
	[ -n "$digest" ] && [ ! -e "$deployment" ] || failed=79 # once it is finalized, the host is not as before
	[ "$fallback" = yes ] || return 1
	say "it reboots in full instead: it cannot soft reboot: $problem" >"$notsoft"
	soft=no failed=1
}

# order_reboot lets a unit of its own soft reboot the host, which nothing that refuses the reboots of
# others refuses. The next run of a killed one may have checked the host before this order unlocked it, and then starts
# the units of finalization again.
order_reboot() {
	if [ "$soft" = no ]; then
		systemctl reboot
	else
		timeout -k 5 10 systemctl stop "$finalizehold" || :
		systemd-run --quiet --collect --property=SuccessAction=soft-reboot true
	fi
}

undo_kind() {
	[ "$soft" = yes ] || return 0
	if [ -n "$digest" ]; then timeout -k 5 15 ostree admin prepare-soft-reboot --reset 0 || :; fi
	rm -f /run/ostree/nextroot-booted # the unit would believe it
	systemctl start ostree-boot-complete.service || :
	[ ! -e "$deployment" ] || systemctl start ostree-finalize-staged.service || :
}
