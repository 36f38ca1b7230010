package planner

import "holdfast/engine"

// allowReset lets a run reset a host once, if its pool wants this and the host does not come back from a reboot of its sequence.
// After the reset, the host has at least the whole timeout of a reboot, unless its shutdown took longer than reset_after. A
// rollback never resets the host, because it follows another reboot of the run.
func allowReset(t engine.Target, hp *engine.HostPlan) {
	after := t.Pool.ResetAfter(t.Host)
	if after == 0 {
		return
	}
	for i, s := range hp.Sequence {
		if s.Do.AwaitBoot == nil {
			continue
		}
		wait := *s.Do.AwaitBoot
		wait.ResetAfter = after
		hp.Sequence[i].Do.AwaitBoot = &wait
		hp.Sequence[i].Timeout += engine.ResetLimit(after)
	}
	if hp.Reboot != nil {
		reboot := *hp.Reboot
		reboot.ResetAfter = after
		hp.Reboot = &reboot
	}
}
