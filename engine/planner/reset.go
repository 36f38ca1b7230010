package planner

import "holdfast/engine"

// allowReset lets a run reset a host once, if its pool wants this and the host does not come back from a reboot of its sequence.
// The wait after the reset is at least as long as the one of another host, unless its shutdown was slower than the time until the reset. A rollback never resets the host, because it follows another
// reboot of the run.
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
