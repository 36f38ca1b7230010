package laws

import (
	"slices"
	"time"

	"holdfast/engine"
)

// This file has the laws about the hosts that a run may begin, and when. An
// adopted host has begun before.

// checkPlanned checks that a run disrupts only the hosts that its journaled
// plan disrupts or may roll back, and hosts whose action has failed since.
func (r *Run) checkPlanned(h *Host) {
	failed := h.Setting.Failed != ""
	if disrupts, ok := r.reports.plan[h.Name]; !ok || !disrupts && !r.reports.reverts[h.Name] && !failed {
		r.reportViolation("%s is disrupted, and the plan does not say so", h.Name)
	}
}

// CheckPaused checks that a paused host, or a host of a paused pool, is not changed.
func (r *Run) CheckPaused(h *Host) {
	if r.observer.isPaused(h) {
		r.reportViolation("%s is paused, and is touched", h.Name)
	}
}

func (w *Observer) isPaused(h *Host) bool {
	now, _ := w.Inventory.Host(h.Name)
	return w.poolOf(h).Paused || now.Paused || w.isInMaintenance(h)
}

func (w *Observer) isInMaintenance(h *Host) bool {
	now, _ := w.Inventory.Host(h.Name)
	return now.Maintenance != "" || now.Leaving
}

func (r *Run) checkBegin(h *Host) {
	p := r.observer.poolOf(h)
	if zone, ok := r.reports.zones[p.Name]; ok && zone != h.Zone {
		r.reportViolation("%s of zone %q joins a batch of pool %s in zone %q", h.Name, h.Zone, p.Name, zone)
	}
	r.reports.zones[p.Name] = h.Zone
	r.checkBatch(h)
	if r.reports.adopted[h.Name] {
		return
	}
	r.checkForeignNode(h)
	r.checkWindow(h, p)
	r.checkCanary(h, p)
	r.checkOrder(h, p)
	r.checkTurn(h)
	if spent := r.reports.spent[p.Name]; spent != "" && !r.best {
		r.reportViolation("%s is begun, after %s", h.Name, spent)
	}
}

// checkOrder checks that all pools before the pool, directly or through others,
// match first. A run cannot know of an edit, or of another OS into which a person
// has rebooted a host, since it read the host.
func (r *Run) checkOrder(h *Host, p engine.Pool) {
	first := map[string]bool{}
	var visit func(engine.Pool)
	visit = func(p engine.Pool) {
		for _, name := range p.After {
			if !first[name] {
				first[name] = true
				before, _ := r.observer.Inventory.Pool(name)
				visit(before)
			}
		}
	}
	visit(p)
	for _, o := range r.observer.Hosts {
		if seen := r.seen[o.Name]; first[o.Pool] && !r.isSatisfied(o) && !wasUnseen(o.Setting.Edited, seen) && !wasUnseen(o.BootedAt, seen) {
			r.reportViolation("%s of pool %s is begun before %s of pool %s is as it is to be", h.Name, p.Name, o.Name, o.Pool)
		}
	}
}

// checkCanary checks that only canaries begin until enough hosts of a pool have
// passed.
func (r *Run) checkCanary(h *Host, p engine.Pool) {
	if p.Canary == nil {
		return
	}
	size, soaked, unsure, trying := 0, 0, 0, 0
	for _, o := range r.observer.Hosts {
		if o.Pool != p.Name {
			continue
		}
		size++
		done, here := r.reports.done[o.Name]
		passed := !here || r.observer.Now.Sub(done) >= time.Duration(p.Canary.Soak)
		switch {
		case o == h || r.reports.failed[o.Name]:
		case r.isSatisfied(o) && (!r.isUnderstood(o) || o.isHeldByOther(r.ID) || r.observer.isInMaintenance(o) || r.observer.isNodeForeign(o)): // the run need not count it
			if here && passed {
				unsure++
			}
		case r.isSatisfied(o) && passed:
			soaked++
		case here && r.isSatisfied(o) && !done.Before(r.reports.batch) && o.disruptedAt.Before(r.reports.batch): // changed in this batch, without disruption
		case r.isSatisfied(o), o.isDisrupted() && o.disruptedBy == r.ID:
			trying++
		}
	}
	if n := p.Canary.Hosts.Of(size); soaked+unsure < n && soaked+trying >= n {
		r.reportViolation("%s is begun while %d of %d canaries of pool %s have not soaked", h.Name, n-soaked, n, p.Name)
	}
}

// checkWindow checks that the windows of the pool are open when a batch begins,
// and stay open for its expected duration.
func (r *Run) checkWindow(h *Host, p engine.Pool) {
	const maxAge = time.Minute // the facts that let the batch begin may have this age
	takes := 30 * time.Minute
	if p.BatchTakes > 0 {
		takes = time.Duration(p.BatchTakes)
	}
	end := r.reports.batch.Add(takes - maxAge)
	for t := r.reports.batch; !t.After(end); t = t.Add(time.Minute) {
		if !isAnyOpen(p.Windows, t) {
			r.reportViolation("%s is begun at %s, by a batch of %s, and no window is open at %s", h.Name, r.observer.Now.UTC().Format(time.DateTime), r.reports.batch.UTC().Format(time.TimeOnly), t.UTC().Format(time.TimeOnly))
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
		if w.FromMinutes < w.ToMinutes {
			return on(t.Weekday()) && w.FromMinutes <= minute && minute < w.ToMinutes
		}
		yesterday := (t.Weekday() + 6) % 7
		return on(t.Weekday()) && minute >= w.FromMinutes || on(yesterday) && minute < w.ToMinutes
	})
}
