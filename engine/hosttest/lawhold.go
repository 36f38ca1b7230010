package hosttest

import (
	"slices"
	"time"

	"holdfast/engine"
)

// The laws about holds, looks and the journal.

// lawOwn: nothing that disrupts a host, or takes that back, is done without the
// run's own hold.
func (b *Bastion) lawOwn(h *Host, what string) {
	switch {
	case h.garbage != "" || h.hold == nil:
		b.reportViolation("%s is %s without a hold of that run", h.Name, what)
	case h.hold.Run != b.ID:
		b.reportViolation("%s is %s while it is %s", h.Name, what, h.hold)
	}
}

// lawAdopt: a hold is taken over only from a run that is dead, or when it has
// expired.
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

// lawStage: no staging begins on a host that a person holds, or another run
// that lives.
func (b *Bastion) lawStage(h *Host) {
	if b.isKeptOut(h) {
		b.reportViolation("%s is staged while it is %s", h.Name, h.hold)
	}
}

// lawArrives: nothing reaches the disk of a host while a person holds it, or
// another run that lives. When it was sent makes no difference.
func (b *Bastion) lawArrives(h *Host, what string) {
	if b.isKeptOut(h) {
		b.reportViolation("%s arrives on the disk of %s, which is %s", what, h.Name, h.hold)
	}
}

// isKeptOut reports whether a person holds the host, or another run that lives.
func (b *Bastion) isKeptOut(h *Host) bool {
	if h.hold == nil || h.hold.Run == b.ID {
		return false
	}
	return h.hold.Kind != engine.RunHold ||
		slices.ContainsFunc(b.site.bastions, func(o *Bastion) bool { return o.ID == h.hold.Run && o.isAlive() })
}

// lawStageOne: a run stages one member of a cluster at a time.
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

// lawRelease: a host is released when it is wholly back, as far as the run
// could know.
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
		h.rolledBy = "" // it was found well; what has happened to it since is not the run's
	}
}

// lawFresh: before a member goes down, and after its hold was taken, the run
// has looked at the holds of all other members and at the cluster. Without
// that, two runs could each take a member down.
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

// lawJournaled: what a run does to a host is in its journal before.
func (b *Bastion) lawJournaled(h *Host, step string) {
	b.mu.Lock()
	begun := b.begun[h.Name]
	b.mu.Unlock()
	if begun != step {
		b.reportViolation("%s of %s is not in the journal, but %q", step, h.Name, begun)
	}
}
