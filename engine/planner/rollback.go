package planner

import (
	"slices"

	"holdfast/engine"
)

func wasRolledBack(t engine.Target) bool {
	os, booted := t.Desired.OS, t.Facts.Booted()
	return os != nil && booted != nil && booted.Digest != os.Digest() && slices.Contains(t.Facts.Rejected, os.Digest())
}

// rollbackSteps returns the steps that replace the rest of a host's sequence if
// the host fails with another OS, from the quorum check to the release.
func rollbackSteps(t engine.Target, steps engine.Steps, drained bool) []engine.Step {
	if len(steps.Rollback) == 0 {
		return nil
	}
	back := append(appendReboot(nil, t, steps.Rollback), recoverySteps(t, engine.Steps{StoppedServices: steps.StoppedServices}, drained)...)
	return append(back, releaseStep(t, engine.Release{}))
}

// appendReboot appends a reboot to a sequence. It inserts the move of the leader
// and the last quorum check directly before the reboot, because the steps before
// the reboot may take long.
func appendReboot(sequence []engine.Step, t engine.Target, reboot []engine.Step) []engine.Step {
	i := max(0, slices.IndexFunc(reboot, func(s engine.Step) bool { return s.Reboots }))
	sequence = append(append(sequence, reboot[:i]...), leaderSteps(t)...)
	return appendHostChanges(sequence, reboot[i:])
}

// previousOS returns the digest of the OS to return to: the booted OS if the host gets
// another, else the OS that the hold of a run names.
func previousOS(t engine.Target, newOS bool) string {
	if booted := t.Facts.Booted(); newOS && booted != nil {
		return booted.Digest
	}
	if h := t.Facts.Hold; h != nil && h.Kind == engine.RunHold {
		return h.PreviousOS
	}
	return ""
}
