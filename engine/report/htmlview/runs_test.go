package htmlview_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/longtest"
	"holdfast/engine/report/htmlview"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/summary"
	"holdfast/engine/simulator"
)

// simulatedRun returns the events of a run that the simulator carries out.
func simulatedRun(t *testing.T, inv engine.Inventory, change func(*simulator.Site, *simulator.Bastion)) []event.Event {
	t.Helper()
	var events []event.Event
	synctest.Test(t, func(*testing.T) {
		site := simulator.New(inv, simulator.V1)
		for _, h := range site.Hosts() {
			h.Change(func(t *simulator.Traits) {
				t.Stage, t.Shutdown, t.Boot, t.Settle = 30*time.Second, 2*time.Second, time.Minute, 10*time.Second
			})
		}
		b := site.Bastion("run-1")
		change(site, b)
		r := b.Run()
		r.Interval, r.Forks = 5*time.Second, 1
		r.Start.Command = event.Command{Name: "apply", Flags: []event.Flag{{Name: "yes", Short: "y", Switch: true}}}
		ctx, cancel := context.WithTimeout(context.Background(), 10*24*time.Hour)
		defer cancel()
		b.Apply(ctx, r)
		events = b.Events()
	})
	return events
}

func oneAtATime(inv engine.Inventory) engine.Inventory {
	for i := range inv.Pools {
		inv.Pools[i].MaxUnavailable = engine.CountOrPercent{Count: 1, Set: true}
	}
	return inv
}

// fillInventory returns three members and two workers, with a canary, a soak and
// a gate.
func fillInventory() engine.Inventory {
	inv := oneAtATime(simulator.Fleet(3, 2))
	inv.Pools[1].Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}, Soak: engine.Duration(10 * time.Minute)}
	inv.Pools[1].Gates = []engine.Gate{{Name: "ceph", Command: "ceph health", When: []engine.GateWhen{engine.BeforeBatch, engine.AfterHost}}}
	return inv
}

// exampleRuns returns a run of each kind of end, by the name of its golden page.
func exampleRuns(t *testing.T) map[string][]event.Event {
	goesBack := oneAtATime(simulator.Fleet(0, 3))
	goesBack.Pools[1].OnFailure = engine.RollbackFailed
	return map[string][]event.Event{
		"good": simulatedRun(t, fillInventory(), func(_ *simulator.Site, b *simulator.Bastion) {
			b.Disk = func(string, time.Time) float64 { return 0.004 }
		}),
		"failed": simulatedRun(t, fillInventory(), func(site *simulator.Site, _ *simulator.Bastion) {
			site.Host("worker-0").Change(func(t *simulator.Traits) { t.Bad = simulator.V2 })
		}),
		"killed": simulatedRun(t, oneAtATime(simulator.Fleet(3, 1)), func(_ *simulator.Site, b *simulator.Bastion) {
			b.Watch = func(e event.Event) {
				if e.Kind == engine.BootStep && e.Type == event.StepStarted && e.Host == "etcd-2" {
					b.Kill()
				}
			}
		}),
		"rolled-back": simulatedRun(t, goesBack, func(site *simulator.Site, _ *simulator.Bastion) {
			site.Host("worker-1").Change(func(t *simulator.Traits) { t.Bad = simulator.V2 })
		}),
		"governed": simulatedRun(t, simulator.Fleet(3, 0), func(site *simulator.Site, b *simulator.Bastion) {
			for _, h := range site.Hosts() {
				h.Change(func(t *simulator.Traits) { t.Stage = 8 * time.Minute })
			}
			began := time.Now()
			b.Disk = func(host string, at time.Time) float64 {
				if d := at.Sub(began); host == "etcd-1" && d > 2*time.Minute && d < 5*time.Minute {
					return 0.031
				}
				return 0.004
			}
		}),
	}
}

func TestPagesOfRuns(t *testing.T) {
	for name, events := range exampleRuns(t) {
		t.Run(name, func(t *testing.T) {
			text := writePage(t, events, htmlview.Journal{})
			reporttest.CompareGolden(t, name, text)
			checkSums(t, events, text)
		})
	}
}

// checkSums checks that a page has the sums of the summary.
func checkSums(t *testing.T, events []event.Event, text string) {
	t.Helper()
	s := summary.New()
	for _, e := range events {
		s.AddEvent(e)
	}
	for line := range strings.Lines(s.Format()) {
		if sums, ok := strings.CutPrefix(line, "  in all: "); ok {
			want := "In all: " + strings.TrimSpace(sums) + "."
			if !strings.Contains(text, want) {
				t.Errorf("the page lacks %q", want)
			}
			keepPage(t, ".sums", []byte(want))
			return
		}
	}
	t.Error("the summary has no sums")
}

// TestSumsOfManyHosts checks that the page of a run of many hosts has the sums of the
// summary, and a row for each host.
func TestSumsOfManyHosts(t *testing.T) {
	longtest.SkipSlow(t)
	events := reporttest.NonDisruptiveRun()
	text := writePage(t, events, htmlview.Journal{})
	checkSums(t, events, text)
	if n := strings.Count(text, `<tr><th scope="row">worker-`); n != 400 {
		t.Errorf("%d rows of workers, not 400", n)
	}
	if n := strings.Count(text, "<details>"); n < 2 {
		t.Errorf("the rows of many hosts are not folded: %d", n)
	}
}
