package planner

import (
	"slices"

	"holdfast/engine"
)

// wasRolledBack reports whether the host has left the OS that it is to run, as
// that failed there.
func wasRolledBack(t engine.Target) bool {
	os, booted := t.Desired.OS, t.Facts.Booted()
	return os != nil && booted != nil && booted.Digest != os.Digest() && slices.Contains(t.Facts.Rejected, os.Digest())
}

// rollbackSteps is what takes the place of the rest of a host's sequence if it fails
// with another OS, from the proof that it is safe until the host is released.
func rollbackSteps(t engine.Target, steps engine.Steps, drained bool) []engine.Step {
	if len(steps.Rollback) == 0 {
		return nil
	}
	back := append(withQuorumCheck(t, steps.Rollback), recoverySteps(t, engine.Steps{StoppedServices: steps.StoppedServices}, drained)...)
	return append(back, releaseStep(t, engine.Release{}))
}

// withQuorumCheck gives steps that reboot a host, with the leader's move and the last
// look at the cluster right before the one that orders it: whatever may take long
// comes before them.
func withQuorumCheck(t engine.Target, reboot []engine.Step) []engine.Step {
	i := max(0, slices.IndexFunc(reboot, func(s engine.Step) bool { return s.Reboots }))
	return slices.Concat(reboot[:i], leaderSteps(t), markHostChanges(reboot[i:]))
}

// previousOS is the OS to which a host may have to go back: the one that it runs,
// if it gets another, or else what a left-over hold says.
func previousOS(t engine.Target, newOS bool) string {
	if booted := t.Facts.Booted(); newOS && booted != nil {
		return booted.Digest
	}
	if h := t.Facts.Hold; h != nil && h.Kind == engine.RunHold {
		return h.PreviousOS
	}
	return ""
}
