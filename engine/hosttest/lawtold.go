package hosttest

import (
	"fmt"
	"time"

	"holdfast/engine"
	"holdfast/engine/rollout"
)

// told is what a run has said in its journal about its roll-out.
type told struct {
	plan    map[string]bool      // hosts of the plan, and whether it disrupts them
	batch   time.Time            // when the last batch began
	zones   map[string]string    // of the hosts of each pool that it has disrupted
	done    map[string]time.Time // hosts that match, and since when
	failed  map[string]bool
	adopted map[string]bool // hosts whose hold the run has taken over from another
	spent   string          // whose failures have used up a budget, when the last batch began
}

func newTold() told {
	return told{plan: map[string]bool{}, zones: map[string]string{}, done: map[string]time.Time{}, failed: map[string]bool{}, adopted: map[string]bool{}}
}

// hear keeps what an event says.
func (b *Bastion) hear(e engine.Event) {
	switch {
	case e.Type == engine.Planned && e.Plan != nil:
		for _, hp := range e.Plan.Hosts {
			b.told.plan[hp.Host] = hp.Disruptive()
		}
	case e.Type == engine.BatchStarted:
		b.told.batch, b.told.zones, b.told.spent = e.Time, map[string]string{}, b.spent()
	case e.Type == engine.HostDone:
		b.told.done[e.Host] = e.Time
	case e.Type == engine.HostFailed && e.Failure.Kind != rollout.KindStopped && e.Failure.Kind != rollout.KindHeld:
		b.told.failed[e.Host] = true
	}
}

// spent says which pool has lost more hosts to failures than its budget, or "".
func (b *Bastion) spent() string {
	for _, p := range b.site.Inventory.Pools {
		size, failed := 0, 0
		for _, h := range b.site.all {
			if h.host.Pool == p.Name {
				size++
			}
			if h.host.Pool == p.Name && b.told.failed[h.Name] {
				failed++
			}
		}
		budget := 0
		if p.FailureBudget.Set {
			budget = p.FailureBudget.Of(size)
		}
		if failed > budget {
			return fmt.Sprintf("%d hosts of pool %s have failed, of which %d may", failed, p.Name, budget)
		}
	}
	return ""
}
