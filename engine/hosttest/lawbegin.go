package hosttest

import (
	"slices"
	"time"

	"holdfast/engine"
)

// The laws about roll-outs: whom a run may begin with, and when. A host that a
// run left behind, and that the next takes up, has been begun before.

// lawPlanned: what is disrupted is what the plan says that was journaled, and
// what has failed since to take effect without.
func (b *Bastion) lawPlanned(h *Host) {
	a := h.setting.applied
	failed := a != nil && a.Unfinished != nil && a.Unfinished.Failed != ""
	if disrupts, ok := b.reports.plan[h.Name]; !ok || !disrupts && !failed {
		b.reportViolation("%s is disrupted, and the plan does not say so", h.Name)
	}
}

// lawPaused: nothing is done about a host that is paused, or whose pool is.
func (b *Bastion) lawPaused(h *Host) {
	if h.isPaused() {
		b.reportViolation("%s is paused, and is touched", h.Name)
	}
}

// isPaused reports whether the inventory pauses the host, or its pool.
func (h *Host) isPaused() bool {
	now, _ := h.site.Inventory.Host(h.Name)
	p, _ := h.site.Inventory.Pool(h.host.Pool)
	return p.Paused || now.Paused
}

// lawBegin is asked before a run disrupts a host that was not disrupted.
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

// lawOrder: the pools that a pool comes after are as they are to be, directly
// and through others.
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

// lawCanary: as long as not enough hosts of a pool have run what they are to run
// for long enough, no others are begun than those that are to be the first.
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
		case b.isSatisfied(o) && (!b.isUnderstood(o) || o.heldBut(b.ID)): // who is to know
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

// lawWindow: a batch begins when the windows of its pools are open, and stay so
// for as long as it is to take.
func (b *Bastion) lawWindow(h *Host, p engine.Pool, now time.Time) {
	const look = time.Minute // that old may be the look that let it begin
	takes := 30 * time.Minute
	if p.BatchTakes > 0 {
		takes = time.Duration(p.BatchTakes)
	}
	end := b.reports.batch.Add(takes - look)
	for t := b.reports.batch; !t.After(end); t = t.Add(time.Minute) {
		if !isAnyOpen(p.Windows, t) {
			b.reportViolation("%s is begun at %s, by a batch of %s, and no window is open at %s", h.Name, now.UTC().Format(time.DateTime), b.reports.batch.UTC().Format(time.TimeOnly), t.UTC().Format(time.TimeOnly))
			return
		}
	}
}

// isAnyOpen reports whether any of the windows is open, by the calendar where it is.
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
