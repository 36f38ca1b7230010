package simulator

import (
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/rollout"
)

// runReports is the part of a run's journal about its roll-out.
type runReports struct {
	plan    map[string]bool      // hosts of the plan, and whether it disrupts them
	clear   map[string]bool      // hosts that were reached and understood at the last gather
	bad     map[string]bool      // hosts that were not understood, or had rejected their OS, at the last gather
	batch   time.Time            // when the last batch began
	zones   map[string]string    // zone of the disrupted hosts, by pool
	done    map[string]time.Time // hosts that match, and since when
	failed  map[string]bool
	adopted map[string]bool   // hosts that the run adopted
	spent   map[string]string // pools over their failure budget when the last batch began, with a description
}

func newRunReports() runReports {
	return runReports{plan: map[string]bool{}, clear: map[string]bool{}, bad: map[string]bool{}, zones: map[string]string{}, done: map[string]time.Time{}, failed: map[string]bool{}, adopted: map[string]bool{}}
}

func (b *Bastion) keepReport(e engine.Event) {
	switch {
	case e.Type == engine.Planned && e.Plan != nil:
		for _, hp := range e.Plan.Hosts {
			b.reports.plan[hp.Host] = hp.Disruptive()
		}
	case e.Type == engine.HostsGathered:
		for _, h := range b.site.all {
			seen := !b.seen[h.Name].Before(e.Time.Add(-time.Duration(e.Took)))
			b.reports.clear[h.Name] = seen && h.traits.Unclear == ""
			b.reports.bad[h.Name] = seen && !h.isHeld() && (h.traits.Unclear != "" || !b.retries && h.rejectsDesiredOS())
		}
	case e.Type == engine.BatchStarted:
		b.reports.batch, b.reports.zones, b.reports.spent = e.Time, map[string]string{}, b.spentBudgets()
	case e.Type == engine.HostDone:
		b.reports.done[e.Host] = e.Time
	case e.Type == engine.HostFailed && e.Failure.Kind != rollout.KindStopped && e.Failure.Kind != rollout.KindHeld:
		b.reports.failed[e.Host] = true
	}
}

func (h *Host) rejectsDesiredOS() bool {
	p, _ := h.site.Inventory.Pool(h.host.Pool)
	return p.OS != nil && h.booted != p.OS.Digest() && slices.Contains(h.memory.rejected, p.OS.Digest()) && !h.isPaused()
}

func (b *Bastion) spentBudgets() map[string]string {
	if play := b.currentPlay(); play != nil {
		return b.spentPlayBudgets(*play)
	}
	failed := map[string]int{}
	for _, h := range b.site.all {
		if b.reports.failed[h.Name] || b.reports.bad[h.Name] {
			failed[h.host.Pool]++
		}
	}
	spent := map[string]string{}
	for pool, n := range failed {
		p, _ := b.site.Inventory.Pool(pool)
		budget := p.FailureBudget.Count
		if p.FailureBudget.Percent > 0 {
			budget = b.site.poolSize(pool) * p.FailureBudget.Percent / 100
		}
		if n > budget {
			spent[pool] = fmt.Sprintf("%d hosts of pool %s have failed, of which %d may", n, pool, budget)
		}
	}
	return spent
}
