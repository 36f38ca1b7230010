package simulator

import (
	"slices"
	"time"

	"holdfast/engine"
)

// The laws about holds, fresh facts and the journal.

// lawOwn checks that a run disrupts or undrains only hosts that it holds.
func (b *Bastion) lawOwn(h *Host, what string) {
	switch {
	case h.garbage != "" || h.hold == nil:
		b.reportViolation("%s is %s without a hold of that run", h.Name, what)
	case h.hold.Run != b.ID:
		b.reportViolation("%s is %s while it is %s", h.Name, what, h.hold)
	}
}

// lawAdopt checks that a run adopts only a hold of a dead run, or a hold that has expired.
func (b *Bastion) lawAdopt(h *Host, now time.Time) {
	b.reports.adopted[h.Name] = true
	if h.hold.Expired(now) {
		return
	}
	for _, o := range b.site.bastions {
		if o.ID == h.hold.Run && o.isAlive() {
			b.reportViolation("the hold of run %s on %s is taken over although that run lives", o.ID, h.Name)
		}
	}
}

// lawStage checks that no staging begins on a host that is held by a person or by another live run.
func (b *Bastion) lawStage(h *Host) {
	if b.isKeptOut(h) {
		b.reportViolation("%s is staged while it is %s", h.Name, h.hold)
	}
}

// lawArrives checks that nothing is written to a host that is held by a person or by another live
// run. The time at which it was sent makes no difference.
func (b *Bastion) lawArrives(h *Host, what string) {
	if b.isKeptOut(h) {
		b.reportViolation("%s arrives on the disk of %s, which is %s", what, h.Name, h.hold)
	}
}

func (b *Bastion) isKeptOut(h *Host) bool {
	if h.hold == nil || h.hold.Run == b.ID {
		return false
	}
	return h.hold.Kind != engine.RunHold ||
		slices.ContainsFunc(b.site.bastions, func(o *Bastion) bool { return o.ID == h.hold.Run && o.isAlive() })
}

// lawStageOne checks that a run stages one member of a cluster at a time.
func (b *Bastion) lawStageOne(h *Host) {
	if h.host.Cluster == "" {
		return
	}
	for _, m := range b.site.clusters[h.host.Cluster].members {
		if m != h && m.staging != "" && m.stager == b {
			b.reportViolation("%s and %s of cluster %s are staged at once", h.Name, m.Name, h.host.Cluster)
		}
	}
}

// lawRelease checks that a host is released when it is completely back, as far as the run could
// know.
func (b *Bastion) lawRelease(h *Host, now time.Time) {
	if !h.isDisrupted(now) {
		return
	}
	unknown := wasUnseen(h.lost, b.seen[h.Name]) || wasUnseen(h.lost, b.gathered[h.host.Cluster]) && h.host.Cluster != ""
	switch {
	case !h.goes.IsZero() && h.rolledBy == b.ID:
		b.reportViolation("%s is released while it goes down", h.Name)
	case h.drained:
		b.reportViolation("%s is released while it is drained", h.Name)
	case !h.isWell(now) && !unknown:
		b.reportViolation("%s is released while it is not well", h.Name)
	case h.lacksUnits():
		b.reportViolation("%s is released, and of its units only %v run", h.Name, h.units)
	case b.seen[h.Name].After(h.rolledAt) && (h.host.Cluster == "" || b.gathered[h.host.Cluster].After(h.rolledAt)):
		h.rolledBy = "" // it was healthy; the run does not answer for later events
	}
}

// lawFresh checks that before a member goes down, and after its hold was taken, the run gathers the
// holds of all other members and the facts of the cluster. Otherwise two runs could take down a
// member each.
func (b *Bastion) lawFresh(h *Host, now time.Time) {
	c := b.site.clusters[h.host.Cluster]
	if c == nil {
		return
	}
	const old = time.Minute
	took := b.took[h.Name]
	if seen := b.gathered[c.name]; seen.Before(took) || now.Sub(seen) > old {
		b.reportViolation("%s goes down, and the run has looked at cluster %s at %s, before that", h.Name, c.name, seen.UTC().Format(time.TimeOnly))
	}
	for _, m := range c.members {
		if m != h && b.seen[m.Name].Before(took) {
			b.reportViolation("%s goes down, and the run has not looked at %s since it took the hold", h.Name, m.Name)
		}
	}
}

// lawJournaled checks that a step is in the journal before it changes a host.
func (b *Bastion) lawJournaled(h *Host, step string) {
	b.mu.Lock()
	begun := b.begun[h.Name]
	b.mu.Unlock()
	if begun != step {
		b.reportViolation("%s of %s is not in the journal, but %q", step, h.Name, begun)
	}
}
