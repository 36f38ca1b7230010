# Checks that the staged deployment may take effect. If anything differs from the plan,
# the script ends before it changes anything. It needs: boot (ID of the boot in the
# plan), and survivors.sh.
if is_boot_gone; then refuse_changed "finalize: $problem"; fi
read_staged || refuse_changed "finalize: ostree admin status fails, so the staged OS is not known"
[ -n "$staged" ] || refuse_changed "finalize: nothing is staged"
has_planned_os || refuse_changed "finalize: $staged is staged, which is not $digest"
[ "$locked" = yes ] || refuse_changed "finalize: $staged is not locked any more"
has_planned_args || refuse_changed "finalize: $staged is not staged by holdfast with the planned kernel arguments"
check_boot finalize
check_survivors finalize
# This service works when it is stopped, at shutdown, so it must be running.
systemctl start ostree-finalize-staged.service || refuse_changed "finalize: ostree-finalize-staged.service does not start"
