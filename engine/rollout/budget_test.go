package rollout_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/simulator"
)

// setMaxUnavailable returns a change of a pool's budget.
func setMaxUnavailable(n int) func(*engine.Pool) {
	return func(p *engine.Pool) { p.MaxUnavailable = engine.CountOrPercent{Count: n, Set: true} }
}

// TestTakenMeanwhile makes the last of five workers unavailable directly after
// a batch was planned.
func TestTakenMeanwhile(t *testing.T) {
	hold := func(kind engine.HoldKind) func(*simulator.Host) {
		return func(h *simulator.Host) {
			h.SetHold(&engine.Hold{Kind: kind, Holder: "bob@b2", Run: "run-bob", Reason: "his"})
		}
	}
	for name, c := range map[string]struct {
		limit, updated int
		happens        func(*simulator.Host)
		exit           engine.ExitCode
		words          []string
		goes           bool
	}{
		"another run": {2, 0, hold(engine.RunHold), engine.ExitRefused, []string{"check budget", "max_unavailable of pool worker is 2", "worker-4 is held by bob@b2"}, false},
		"a person":    {2, 0, hold(engine.MaintenanceHold), engine.ExitRefused, []string{"worker-4 is held by bob@b2"}, false},
		"garbage":     {2, 0, (*simulator.Host).Garble, engine.ExitRefused, []string{"worker-4 is held"}, false},
		"lost":        {2, 0, (*simulator.Host).Cut, engine.ExitFailed, []string{"worker-4 cannot be reached"}, false},
		"room":        {3, 3, hold(engine.MaintenanceHold), engine.ExitRefused, []string{"worker-4 is held"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(workerFleet(5, setMaxUnavailable(c.limit)))
				for i := range c.updated {
					site.Host(fmt.Sprintf("worker-%d", 4-i)).Boot(simulator.V2)
				}
				time.Sleep(time.Minute)
				b, last := site.Bastion("run-1"), site.Host("worker-4")
				b.Watch = func(e event.Event) {
					if e.Type == event.BatchStarted {
						c.happens(last)
					}
				}
				errs := []error{checkEnd(applyRun(b), c.exit, c.words...), checkLaws(site)}
				for _, name := range []string{"worker-0", "worker-1"} {
					if c.goes {
						errs = append(errs, checkUpdated(site.Host(name)))
					} else {
						errs = append(errs, checkUntouched(site.Host(name)))
					}
				}
				if err := errors.Join(errs...); err != nil {
					t.Fatalf("%v\n%s", err, runTranscript(b))
				}
			})
		})
	}
}

// TestBatchSharesLooks updates forty workers, ten at a time, with calls that
// take time. Each batch gathers the holds of the other hosts at most twice, and
// not once for each of its hosts.
func TestBatchSharesLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const batches, others, twice = 4, 30, 2
		site := newSite(workerFleet(40, setMaxUnavailable(10)))
		b := site.Bastion("run-1")
		b.Latency = func(simulator.Call) time.Duration { return time.Second }
		failOnErrors(t, checkEnd(applyRun(b), engine.ExitOK), checkConverged(site))
		looks := 0
		for _, c := range b.Calls() {
			if c.Verb == "read hold" {
				looks++
			}
		}
		if looks < batches*others || looks > batches*others*twice {
			t.Errorf("%d looks at holds, of %d hosts beside each of %d batches", looks, others, batches)
		}
	})
}

// TestCordonedHostsTakeSeats: a cordoned node still runs its pods, so after one of two cordoned hosts has failed, the other is left alone;
// and two bastions do not disrupt one each.
func TestCordonedHostsTakeSeats(t *testing.T) {
	inv := workerFleet(2, func(p *engine.Pool) {
		p.MaxUnavailable, p.FailureBudget = engine.CountOrPercent{Count: 1, Set: true}, engine.CountOrPercent{Count: 2, Set: true}
	})
	inv.Kubernetes = []engine.KubernetesCluster{{Name: "main"}}
	for i := range inv.Hosts {
		inv.Hosts[i].Kubernetes = "main"
	}
	cordoned := func() *simulator.Site {
		site := newSite(inv)
		site.AddNodeCluster("main", []string{"worker-0", "worker-1"}, nil, nil)
		site.CordonNode("worker-0")
		site.CordonNode("worker-1")
		return site
	}
	t.Run("one failed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			site := cordoned()
			site.Host("worker-0").Change(func(t *simulator.Traits) { t.Missing = []string{"sshd.service"} })
			b := site.Bastion("run-1")
			end := applyRun(b)
			if last := len(end.Verdict.Excluded) - 1; last < 0 || !strings.Contains(end.Verdict.Excluded[last].Reason, "worker-0 is failed; its node is only cordoned and still runs its pods") {
				t.Errorf("%+v", end.Verdict.Excluded)
			}
			if err := errors.Join(checkEnd(end, engine.ExitFailed), checkLaws(site), checkUntouched(site.Host("worker-1"))); err != nil {
				t.Fatalf("%v\n%s", err, runTranscript(b))
			}
		})
	})
	t.Run("both of them", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			site := cordoned()
			if err := errors.Join(checkEnd(applyRun(site.Bastion("run-1")), engine.ExitOK), checkLaws(site), checkConverged(site)); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("two bastions", func(t *testing.T) {
		for seconds := range 4 {
			delays := [][]int{{1, 0, 1, 1}, {0, seconds, 1, 0}}
			if err := runInBubble(t, func() error {
				return runTogether(playFixture{site: cordoned}, delays, time.Duration(seconds)*time.Second, fromTheEnd(false), fromTheEnd(true))
			}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
