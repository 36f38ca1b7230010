package laws

import (
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// runReports is the part of a run's journal about its roll-out.
type runReports struct {
	plan    map[string]bool           // hosts of the plan, and whether it disrupts them
	reverts map[string]bool           // hosts that the plan rolls back if their OS fails
	reboots map[string]*engine.Reboot // reboots of the plan, by host
	clear   map[string]bool           // hosts that were reached and whose state was understood at the last gather
	bad     map[string]bool           // hosts whose state was not understood, or that had rejected their OS, at the last gather
	batch   time.Time                 // when the last batch began
	zones   map[string]string         // zone of the disrupted hosts, by pool
	done    map[string]time.Time      // hosts that match, and since when
	failed  map[string]bool
	adopted map[string]bool   // hosts that the run adopted
	spent   map[string]string // pools that exceeded their failure budget when the last batch began, with a description
}

func newRunReports() runReports {
	return runReports{plan: map[string]bool{}, reverts: map[string]bool{}, reboots: map[string]*engine.Reboot{}, clear: map[string]bool{}, bad: map[string]bool{}, zones: map[string]string{}, done: map[string]time.Time{}, failed: map[string]bool{}, adopted: map[string]bool{}}
}

func (r *Run) keepReport(e event.Event) {
	switch {
	case e.Type == event.Planned && e.Plan != nil:
		for _, hp := range e.Plan.Hosts {
			r.reports.plan[hp.Host] = hp.Disruptive()
			r.reports.reverts[hp.Host] = len(hp.Rollback) > 0
			r.reports.reboots[hp.Host] = hp.Reboot
		}
	case e.Type == event.HostsGathered:
		for _, h := range r.observer.Hosts {
			seen := r.hasReached(h, e)
			r.reports.clear[h.Name] = seen && !h.Unclear
			bad := seen && !h.isHeld() && !r.observer.isInMaintenance(h) && (h.Unclear || !r.retries && r.observer.rejectsDesiredOS(h))
			r.reports.bad[h.Name], r.followed.bad[h.Name] = bad, bad && r.followed.bad[h.Name]
		}
	case e.Type == event.BatchStarted:
		r.reports.batch, r.reports.zones, r.reports.spent = e.Time, map[string]string{}, r.spentBudgets()
	case e.Type == event.HostDone:
		r.reports.done[e.Host] = e.Time
	case e.Type == event.HostFailed && e.Failure.Kind != engine.StoppedFailure && e.Failure.Kind != engine.HeldFailure:
		r.reports.failed[e.Host] = true
	}
}

func (w *Observer) rejectsDesiredOS(h *Host) bool {
	p := w.poolOf(h)
	return p.OS != nil && h.Booted != p.OS.Digest() && slices.Contains(h.Rejected, p.OS.Digest()) && !w.isPaused(h)
}

func (r *Run) spentBudgets() map[string]string {
	if play := r.currentPlay(); play != nil {
		return r.spentPlayBudgets(*play)
	}
	failed := map[string]int{}
	for _, h := range r.observer.Hosts {
		if r.reports.failed[h.Name] || r.reports.bad[h.Name] {
			failed[h.Pool]++
		}
	}
	spent := map[string]string{}
	for pool, n := range failed {
		p, _ := r.observer.Inventory.Pool(pool)
		budget := p.FailureBudget.Count
		if p.FailureBudget.Percent > 0 {
			budget = r.observer.poolSize(pool) * p.FailureBudget.Percent / 100
		}
		if n > budget {
			spent[pool] = fmt.Sprintf("%d hosts of pool %s have failed, of which %d may", n, pool, budget)
		}
	}
	return spent
}
