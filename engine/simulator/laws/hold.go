package laws

import (
	"slices"
	"time"

	"holdfast/engine"
)

// This file has the laws about holds, current facts and the journal.

// CheckOwn checks that a run disrupts or undrains only hosts that it holds.
func (r *Run) CheckOwn(h *Host, what string) {
	switch {
	case h.Garbled || h.Hold == nil:
		r.reportViolation("%s is %s without a hold of that run", h.Name, what)
	case h.Hold.Run != r.ID:
		r.reportViolation("%s is %s while it is %s", h.Name, what, h.Hold)
	}
}

// CheckAdopt checks that a run adopts only the hold of a dead run, or an
// expired hold.
func (r *Run) CheckAdopt(h *Host) {
	r.reports.adopted[h.Name] = true
	if h.Hold.Expired(r.observer.Now) {
		return
	}
	for _, o := range r.observer.runs {
		if o.ID == h.Hold.Run && o.alive() {
			r.reportViolation("the hold of run %s on %s is taken over although that run lives", o.ID, h.Name)
		}
	}
}

// CheckStage checks three laws: the staging is in the journal; it does not
// begin on a host that a person or another live run holds; and the run stages
// one member of a cluster at a time.
func (r *Run) CheckStage(h *Host) {
	if r.isKeptOut(h) {
		r.reportViolation("%s is staged while it is %s", h.Name, h.Hold)
	}
	r.checkSurvivor(h, "staged")
	r.checkStageOne(h)
	r.checkJournaledKind(h, engine.StageStep)
}

// CheckArrives checks that nothing is written to a host that a person or
// another live run holds. It counts when the data arrive, and not when they
// were sent.
func (r *Run) CheckArrives(h *Host, what string) {
	if r.isKeptOut(h) {
		r.reportViolation("%s arrives on the disk of %s, which is %s", what, h.Name, h.Hold)
	}
}

func (r *Run) isKeptOut(h *Host) bool {
	if h.Hold == nil || h.Hold.Run == r.ID {
		return false
	}
	return h.Hold.Kind != engine.RunHold ||
		slices.ContainsFunc(r.observer.runs, func(o *Run) bool { return o.ID == h.Hold.Run && o.alive() })
}

func (r *Run) checkStageOne(h *Host) {
	if h.Cluster == "" {
		return
	}
	for _, m := range r.observer.findCluster(h).Members {
		if m != h && m.StagedBy == r.ID {
			r.reportViolation("%s and %s of cluster %s are staged at once", h.Name, m.Name, h.Cluster)
		}
	}
}

// CheckRelease checks that a host is completely back when it is released, as
// far as the run could know.
func (r *Run) CheckRelease(h *Host) {
	r.checkNodeLeft(h)
	if !h.isDisrupted() {
		return
	}
	unknown := wasUnseen(h.Lost, r.seen[h.Name]) || wasUnseen(h.Lost, r.gathered[h.Cluster]) && h.Cluster != ""
	switch {
	case h.GoesDown && h.disruptedBy == r.ID:
		r.reportViolation("%s is released while it goes down", h.Name)
	case h.Drained:
		r.reportViolation("%s is released while it is drained", h.Name)
	case !h.isWell() && !unknown:
		r.reportViolation("%s is released while it is not well", h.Name)
	case h.LacksUnits():
		r.reportViolation("%s is released, and of its units only %v run", h.Name, h.Units)
	case r.seen[h.Name].After(h.disruptedAt) && (h.Cluster == "" || r.gathered[h.Cluster].After(h.disruptedAt)):
		h.disruptedBy = "" // the host was healthy; the run does not answer for later events
	}
}

// checkFresh checks that a run gathers the holds of all other members and the
// facts of the cluster, after it has taken the hold of a member and before that
// member goes down. Otherwise two runs could each take down a member.
func (r *Run) checkFresh(h *Host) {
	c := r.observer.findCluster(h)
	if c == nil {
		return
	}
	const old = time.Minute
	took := r.took[h.Name]
	if seen := r.gathered[c.Name]; seen.Before(took) || r.observer.Now.Sub(seen) > old {
		r.reportViolation("%s goes down, and the run has looked at cluster %s at %s, before that", h.Name, c.Name, seen.UTC().Format(time.TimeOnly))
	}
	for _, m := range c.Members {
		if m != h && r.seen[m.Name].Before(took) {
			r.reportViolation("%s goes down, and the run has not looked at %s since it took the hold", h.Name, m.Name)
		}
	}
}

// checkJournaled checks that the journal has a step before the step changes a
// host. It is for steps that are named by the modules of the simulator and by
// the plays of a test. checkJournaledKind is for steps with a kind.
func (r *Run) checkJournaled(h *Host, step string) {
	if begun := r.begun[h.Name]; begun.name != step {
		r.reportViolation("%s of %s is not in the journal, but %q", step, h.Name, begun.name)
	}
}

func (r *Run) checkJournaledKind(h *Host, kind engine.StepKind) {
	if begun := r.begun[h.Name]; begun.kind != kind {
		r.reportViolation("a step to %s of %s is not in the journal, but %q", kind, h.Name, begun.name)
	}
}
