package laws

import (
	"time"

	"holdfast/engine"
)

func (h *Host) isDisrupted() bool {
	if h.disruptedBy != "" && !h.GoesDown && !h.Drained && h.isWell() && !h.LacksUnits() {
		h.disruptedBy = ""
	}
	return h.disruptedBy != ""
}

// CheckDisrupt checks all laws about a disruption during which the host stays
// up.
func (r *Run) CheckDisrupt(h *Host) { r.checkDisrupt(h, false) }

// CheckDrain checks all laws about a drain.
func (r *Run) CheckDrain(h *Host) {
	r.checkDisrupt(h, false)
	r.checkJournaled(h, "drain")
}

// CheckHarm checks all laws about a command that may harm the etcd member of the host.
func (r *Run) CheckHarm(h *Host) {
	r.checkDisrupt(h, false)
	if c := r.observer.findCluster(h); c != nil {
		r.checkCluster(c, h, true)
		r.checkFresh(h)
	}
}

// CheckReboot checks all laws about an order to reboot.
func (r *Run) CheckReboot(h *Host, o RebootOrder) {
	r.checkDisrupt(h, true)
	r.checkRebootKind(h, o)
	r.checkPodsLeft(h)
	switch play := r.currentPlay(); {
	case o.Digest != "":
		r.checkSurvivor(h, "to boot another OS")
		r.checkSkew(h, o.Digest)
		h.orderedBy = r
	case play == nil || !play.Has(engine.RebootTask):
		r.checkFallback(h)
	}
}

func (r *Run) checkDisrupt(h *Host, down bool) {
	r.CheckOwn(h, "disrupted")
	if down && h.Reboots > 0 && h.Booted == h.Staged {
		r.reportViolation("%s is rebooted into the OS it runs", h.Name)
	}
	if down {
		r.checkJournaledKind(h, engine.RebootStep)
		r.checkFresh(h)
	}
	if c := r.observer.findCluster(h); c != nil {
		r.checkCluster(c, h, down)
	}
	r.CheckPaused(h)
	r.checkPlanned(h)
	if !h.isDisrupted() {
		r.checkBegin(h)
		r.checkPool(h)
		h.disruptedAt, h.wasNotReady = r.observer.Now, r.followed.notReady[h.Name]
	}
	h.disruptedBy = r.ID
}

// checkCluster checks that one member of a cluster is disrupted at a time, that
// the quorum is kept, and that no other member is known to be unhealthy.
func (r *Run) checkCluster(c *Cluster, h *Host, down bool) {
	left := 0
	for _, m := range c.Members {
		switch {
		case m == h:
		case m.isDisrupted():
			r.reportViolation("%s and %s of cluster %s are disrupted at once", h.Name, m.Name, c.Name)
		case m.Healthy || wasUnseen(m.Lost, r.gathered[c.Name]):
			left++
		case down:
			r.reportViolation("%s goes down while %s of cluster %s is not healthy", h.Name, m.Name, c.Name)
		}
	}
	small := (c.AllowOutage || h.RunsOn) && len(c.Members) <= 2
	if down && left < c.quorum() && !small {
		r.reportViolation("%s goes down and leaves %d of %d voters of cluster %s", h.Name, left, len(c.Members), c.Name)
	}
	if down && c.Learner != nil && !wasUnseen(c.Added, r.gathered[c.Name]) {
		r.reportViolation("%s goes down while %s of cluster %s is a learner", h.Name, c.Learner.Name, c.Name)
	}
	chosen := wasUnseen(c.Elected, r.gathered[c.Name]) // the members elected a leader, and no run could know
	if down && c.Leader == h && len(c.Members) > 1 && left > 0 && !small && !chosen {
		r.reportViolation("%s goes down while it leads cluster %s", h.Name, c.Name)
	}
}

// checkPool checks that the unavailable hosts of a pool and of the site stay
// within the budgets. Hosts that were unavailable before may exceed them. A host
// whose node was not Ready costs no further seat: it did no work. Nor does a host that
// the run has adopted, although it may work again, while the run disrupts no other:
// otherwise no run could recover it.
func (r *Run) checkPool(h *Host) {
	if r.followed.notReady[h.Name] {
		return
	}
	p := r.observer.poolOf(h)
	size, gone, all, recovers := 0, []string{h.Name}, []string{h.Name}, r.reports.adopted[h.Name]
	for _, o := range r.observer.Hosts {
		if o.Pool == p.Name {
			size++
		}
		if o == h || !r.knowsGone(o, !r.reports.adopted[h.Name]) {
			continue
		}
		recovers = recovers && !(o.isDisrupted() && o.disruptedBy == r.ID)
		all = append(all, o.Name)
		if o.Pool == p.Name {
			gone = append(gone, o.Name)
		}
	}
	if recovers {
		return
	}
	if limit := p.MaxUnavailable.Of(size); len(gone) > limit {
		r.reportViolation("pool %s loses %d hosts at once, its budget is %d: %v", p.Name, len(gone), limit, gone)
	}
	if limit, ok := r.observer.siteBudget(); ok && len(all) > limit {
		r.reportViolation("the site loses %d hosts at once, its budget is %d: %v", len(all), limit, all)
	}
}

// knowsGone reports whether the host is unavailable and the run could know
// that. With taken, a host that another run holds also counts, because both
// runs gather holds after they have taken their own. taken is false if the run
// adopted the host that it disrupts, because that host was held before.
func (r *Run) knowsGone(h *Host, taken bool) bool {
	if h.isDisrupted() {
		return h.disruptedBy == r.ID || !wasUnseen(h.disruptedAt, r.seen[h.Name]) || taken && h.Hold != nil && h.Hold.Kind == engine.RunHold
	}
	return !h.Up && r.missed[h.Name].After(h.Lost)
}

// wasUnseen reports whether an event may have come after the facts were
// gathered. Two events at the same moment have no order.
func wasUnseen(happened, gathered time.Time) bool { return !happened.Before(gathered) }
