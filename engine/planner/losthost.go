package planner

import (
	"fmt"

	"holdfast/engine"
)

// findLostChange returns the change after which an unreachable host has not come back, if the desired state still asks for it.
// Such a host has failed, although in an earlier run: the same change would fail on the next host, too. A host that failed in
// this run counts already, and one that this run has updated is well. A play that cannot bring the change does not stop for it.
func findLostChange(in Input, h engine.Host, why engine.ExclusionKind) (engine.LostHost, bool) {
	lost, ok := in.Lost[h.Name]
	_, failed := in.Failed[h.Name]
	_, done := in.Done[h.Name]
	return lost, ok && !failed && !done && why == engine.Unreachable && in.Desired[h.Name].StillAsksFor(lost.Aim) && lost.MayComeFrom(in.Play, h.Name, in.Desired[h.Name])
}

func describeLostHost(lost engine.LostHost, reason string) string {
	return fmt.Sprintf("%s; the change of run %s has not succeeded on it, so it counts as failed: repair it, give it another OS or configuration, or set maintenance on it", reason, lost.Run)
}
