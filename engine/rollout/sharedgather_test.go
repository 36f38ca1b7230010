package rollout

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// TestGatherFromBeforeTheHoldDoesNotCount begins to gather before a host takes
// its hold. Another hold may appear after its host was read, so these facts do
// not count for the waiting host. That host takes part in the next round.
func TestGatherFromBeforeTheHoldDoesNotCount(t *testing.T) {
	l := &sharedGather{turn: make(chan struct{}, 1), arrived: make(chan struct{})}
	close(l.arrived)
	begun, finish, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = l.gatherSince(t.Context(), func(context.Context, []engine.Host) []engine.Facts {
			close(begun)
			<-finish
			return []engine.Facts{{Host: "before"}}
		})
	}()
	select {
	case <-begun:
	case <-ended:
		t.Fatal("the first host got an answer, and nothing was gathered")
	}
	asked := make(chan []engine.Facts)
	go func() {
		close(finish) // before or after the next question; neither round may answer it
		seen, _ := l.gatherSince(t.Context(), func(context.Context, []engine.Host) []engine.Facts { return []engine.Facts{{Host: "after"}} })
		asked <- seen
	}()
	if seen := <-asked; len(seen) != 1 || seen[0].Host != "after" {
		t.Errorf("the host was told of %+v, which was seen before it took its hold", seen)
	}
}

// TestHostsOfABatchShareOneRound checks that the hosts of a batch read the holds of the others once, after the last of them has its hold, and that
// a host that fails or hangs before does not keep them.
func TestHostsOfABatchShareOneRound(t *testing.T) {
	for name, third := range map[string]func(*sharedGather) (waits time.Duration){
		"the last host asks":  func(l *sharedGather) time.Duration { time.Sleep(time.Second); l.noteArrival("c"); return time.Second },
		"the last host fails": func(l *sharedGather) time.Duration { l.noteArrival("c"); l.noteArrival("c"); return 0 },
		"the last host hangs": func(*sharedGather) time.Duration { return arrivalWait },
	} {
		synctest.Test(t, func(t *testing.T) {
			check := engine.Step{Do: engine.Op{Budget: &engine.Budget{Pool: "worker"}}}
			plan := engine.Plan{Batches: []engine.Batch{{Hosts: []string{"a", "b", "c", "quiet"}}}, Hosts: []engine.HostPlan{{Host: "quiet"}}}
			for _, host := range []string{"a", "b", "c"} {
				plan.Hosts = append(plan.Hosts, engine.HostPlan{Host: host, Sequence: []engine.Step{check}})
			}
			l := newSharedGather(planner.Budgets{}, plan)
			began, rounds := time.Now(), 0
			var work conc.WaitGroup
			for _, host := range []string{"a", "b"} {
				work.Go(func() {
					l.noteArrival(host)
					_, _ = l.gatherSince(t.Context(), func(context.Context, []engine.Host) []engine.Facts { rounds++; return nil })
				})
			}
			waits := third(l)
			work.Wait()
			if took := time.Since(began); rounds != 1 || took != waits {
				t.Errorf("%s: %d rounds after %s; want one after %s", name, rounds, took, waits)
			}
		})
	}
}
