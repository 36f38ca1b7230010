package simulator

import (
	"slices"
	"time"

	"holdfast/engine"
)

// The laws about roll-outs: which hosts a run may begin, and when. An adopted host
// has begun before.

// lawPlanned checks that only hosts that the journaled plan disrupts are disrupted, and hosts whose
// action has failed since.
func (b *Bastion) lawPlanned(h *Host) {
	a := h.setting.applied
	failed := a != nil && a.Unfinished != nil && a.Unfinished.Failed != ""
	if disrupts, ok := b.reports.plan[h.Name]; !ok || !disrupts && !failed {
		b.reportViolation("%s is disrupted, and the plan does not say so", h.Name)
	}
}

// lawPaused checks that a paused host, or a host of a paused pool, is not changed.
func (b *Bastion) lawPaused(h *Host) {
	if h.isPaused() {
		b.reportViolation("%s is paused, and is touched", h.Name)
	}
}

func (h *Host) isPaused() bool {
	now, _ := h.site.Inventory.Host(h.Name)
	p, _ := h.site.Inventory.Pool(h.host.Pool)
	return p.Paused || now.Paused
}

// lawBegin checks all laws about a host that was not disrupted before.
func (b *Bastion) lawBegin(h *Host, now time.Time) {
	p, _ := b.site.Inventory.Pool(h.host.Pool)
	if zone, ok := b.reports.zones[p.Name]; ok && zone != h.host.Zone {
		b.reportViolation("%s of zone %q joins a batch of pool %s in zone %q", h.Name, h.host.Zone, p.Name, zone)
	}
	b.reports.zones[p.Name] = h.host.Zone
	b.lawBatch(h)
	if b.reports.adopted[h.Name] {
		return
	}
	b.lawWindow(h, p, now)
	b.lawCanary(h, p, now)
	b.lawOrder(h, p)
	b.lawTurn(h)
	if spent := b.reports.spent[p.Name]; spent != "" && !b.best {
		b.reportViolation("%s is begun, after %s", h.Name, spent)
	}
}

// lawOrder checks that all pools that the pool comes after, directly or not, match first.
func (b *Bastion) lawOrder(h *Host, p engine.Pool) {
	first := map[string]bool{}
	var visit func(engine.Pool)
	visit = func(p engine.Pool) {
		for _, name := range p.After {
			if !first[name] {
				first[name] = true
				before, _ := b.site.Inventory.Pool(name)
				visit(before)
			}
		}
	}
	visit(p)
	for _, o := range b.site.all {
		if first[o.host.Pool] && !b.isSatisfied(o) && !wasUnseen(o.setting.edited, b.seen[o.Name]) {
			b.reportViolation("%s of pool %s is begun before %s of pool %s is as it is to be", h.Name, p.Name, o.Name, o.host.Pool)
		}
	}
}

// lawCanary checks that until enough hosts of a pool have passed, only canaries begin.
func (b *Bastion) lawCanary(h *Host, p engine.Pool, now time.Time) {
	if p.Canary == nil {
		return
	}
	size, soaked, trying := 0, 0, 0
	for _, o := range b.site.all {
		if o.host.Pool != p.Name {
			continue
		}
		size++
		done, here := b.reports.done[o.Name]
		switch {
		case o == h || b.reports.failed[o.Name]:
		case b.isSatisfied(o) && (!b.isUnderstood(o) || o.heldBut(b.ID)): // no run could know
		case b.isSatisfied(o) && (!here || now.Sub(done) >= time.Duration(p.Canary.Soak)):
			soaked++
		case b.isSatisfied(o), o.isDisrupted(now) && o.rolledBy == b.ID:
			trying++
		}
	}
	if n := p.Canary.Hosts.Of(size); soaked < n && soaked+trying >= n {
		b.reportViolation("%s is begun while %d of %d canaries of pool %s have not soaked", h.Name, n-soaked, n, p.Name)
	}
}

// lawWindow checks that the windows of the pool are open when a batch begins, and stay open for its
// expected time.
func (b *Bastion) lawWindow(h *Host, p engine.Pool, now time.Time) {
	const maxAge = time.Minute // the facts that let it begin may be that old
	takes := 30 * time.Minute
	if p.BatchTakes > 0 {
		takes = time.Duration(p.BatchTakes)
	}
	end := b.reports.batch.Add(takes - maxAge)
	for t := b.reports.batch; !t.After(end); t = t.Add(time.Minute) {
		if !isAnyOpen(p.Windows, t) {
			b.reportViolation("%s is begun at %s, by a batch of %s, and no window is open at %s", h.Name, now.UTC().Format(time.DateTime), b.reports.batch.UTC().Format(time.TimeOnly), t.UTC().Format(time.TimeOnly))
			return
		}
	}
}

func isAnyOpen(windows []engine.Window, now time.Time) bool {
	return len(windows) == 0 || slices.ContainsFunc(windows, func(w engine.Window) bool {
		where := w.Location
		if where == nil {
			where = time.UTC
		}
		t := now.In(where)
		on := func(d time.Weekday) bool { return len(w.Days) == 0 || slices.Contains(w.Days, d) }
		minute := t.Hour()*60 + t.Minute()
		if w.From < w.To {
			return on(t.Weekday()) && w.From <= minute && minute < w.To
		}
		yesterday := (t.Weekday() + 6) % 7
		return on(t.Weekday()) && minute >= w.From || on(yesterday) && minute < w.To
	})
}
