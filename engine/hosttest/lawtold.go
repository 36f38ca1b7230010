package hosttest

import (
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/rollout"
)

// told is what a run has said in its journal about its roll-out.
type told struct {
	plan    map[string]bool      // hosts of the plan, and whether it disrupts them
	clear   map[string]bool      // hosts that the last look has shown to be as they were
	bad     map[string]bool      // hosts that it has shown to be not understood, or rolled back from what they are to run
	batch   time.Time            // when the last batch began
	zones   map[string]string    // of the hosts of each pool that it has disrupted
	done    map[string]time.Time // hosts that match, and since when
	failed  map[string]bool
	adopted map[string]bool   // hosts whose hold the run has taken over from another
	spent   map[string]string // pools that had lost more hosts to failures than they may when the last batch began, and how many
}

func newTold() told {
	return told{plan: map[string]bool{}, clear: map[string]bool{}, bad: map[string]bool{}, zones: map[string]string{}, done: map[string]time.Time{}, failed: map[string]bool{}, adopted: map[string]bool{}}
}

// hear keeps what an event says.
func (b *Bastion) hear(e engine.Event) {
	switch {
	case e.Type == engine.Planned && e.Plan != nil:
		for _, hp := range e.Plan.Hosts {
			b.told.plan[hp.Host] = hp.Disruptive()
		}
	case e.Type == engine.HostsGathered:
		for _, h := range b.site.all {
			seen := !b.seen[h.Name].Before(e.Time.Add(-time.Duration(e.Took)))
			b.told.clear[h.Name] = seen && h.traits.Unclear == ""
			b.told.bad[h.Name] = seen && !h.held() && (h.traits.Unclear != "" || !b.retries && h.rejects())
		}
	case e.Type == engine.BatchStarted:
		b.told.batch, b.told.zones, b.told.spent = e.Time, map[string]string{}, b.spent()
	case e.Type == engine.HostDone:
		b.told.done[e.Host] = e.Time
	case e.Type == engine.HostFailed && e.Failure.Kind != rollout.KindStopped && e.Failure.Kind != rollout.KindHeld:
		b.told.failed[e.Host] = true
	}
}

// rejects reports whether the host is to run an OS from which it was rolled back.
func (h *Host) rejects() bool {
	p, _ := h.site.Inventory.Pool(h.host.Pool)
	return p.OS != nil && h.booted != p.OS.Digest() && slices.Contains(h.memory.rejected, p.OS.Digest()) && !h.paused()
}

// spent says which pools have lost more hosts to failures than their budgets.
func (b *Bastion) spent() map[string]string {
	if play := b.playing(); play != nil {
		return b.playSpent(*play)
	}
	failed := map[string]int{}
	for _, h := range b.site.all {
		if b.told.failed[h.Name] || b.told.bad[h.Name] {
			failed[h.host.Pool]++
		}
	}
	spent := map[string]string{}
	for pool, n := range failed {
		p, _ := b.site.Inventory.Pool(pool)
		budget := p.FailureBudget.Count
		if p.FailureBudget.Percent > 0 {
			budget = b.site.size(pool) * p.FailureBudget.Percent / 100
		}
		if n > budget {
			spent[pool] = fmt.Sprintf("%d hosts of pool %s have failed, of which %d may", n, pool, budget)
		}
	}
	return spent
}
