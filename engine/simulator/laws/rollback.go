package laws

import (
	"slices"

	"holdfast/engine"
)

// CheckRollback checks that a rollback has the hold, the journal entry, the drain and the
// quorum that every reboot needs, and that it happens once for each OS.
func (r *Run) CheckRollback(h *Host, bad string) {
	if slices.Contains(h.rolledBack, bad) {
		r.reportViolation("%s is rolled back from %s once more", h.Name, bad)
	}
	h.rolledBack = append(h.rolledBack, bad)
	h.reboot, h.orderedBy = orderedReboot{}, nil // a rollback may go to any version
	if h.Garbled || h.Hold == nil || h.Hold.Run != r.ID {
		r.reportViolation("%s is rolled back without a hold of that run", h.Name)
	}
	r.checkJournaledKind(h, engine.RebootStep)
	r.checkFresh(h)
	r.checkPodsLeft(h)
	r.checkCordoned(h)
	if c := r.observer.findCluster(h); c != nil {
		r.checkCluster(c, h, true)
	}
	h.disruptedBy = r.ID
}

// CheckAccepts checks that a release accepts only the OS that then runs. This
// OS may be rolled back once more later.
func (r *Run) CheckAccepts(h *Host, digest string) {
	if h.Booted != digest || h.GoesDown {
		r.reportViolation("%s runs %s, and is released as well with %s", h.Name, h.Booted, digest)
	}
	h.rolledBack = slices.DeleteFunc(h.rolledBack, func(d string) bool { return d == digest })
}
