package rollout_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/longtest"
	"holdfast/engine/simulator"
)

// thousandHosts returns the largest site that a run must handle fast.
func thousandHosts() engine.Inventory { return simulator.Large(1000, 20, 30) }

// TestManyHosts updates a large site, and runs again. BenchmarkThousandHosts
// measures the cost for 1,000 hosts.
func TestManyHosts(t *testing.T) {
	t.Parallel()
	inv := simulator.Large(longtest.Pick(usualHosts, 1000), 20, 30)
	synctest.Test(t, func(t *testing.T) { failOnErrors(t, updateTwice(newSite(inv))) })
}

// counted counts the comparisons of hosts.
type counted struct {
	engine.ChangePlanner

	compared *int
}

func (m counted) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	*m.compared++
	return m.ChangePlanner.Diff(d, f)
}

// A run compares each host once for its survey and its plan.
func TestHostsAreComparedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inv := simulator.Large(20, 2, 3)
		run, compared := newSite(inv).Bastion("run-0").Run(), 0
		run.Modules[0].Changes = counted{run.Modules[0].Changes, &compared}
		plan, _, err := run.Plan(t.Context())
		if err != nil || len(plan.Hosts) != len(inv.Hosts) || compared != len(inv.Hosts) {
			t.Errorf("%v: %d hosts were compared %d times", err, len(plan.Hosts), compared)
		}
	})
}

func updateTwice(site *simulator.Site) error {
	errs := []error{checkEnd(applyRun(site.Bastion("run-1")), engine.ExitOK), checkConverged(site)}
	before := len(site.Log())
	errs = append(errs, checkEnd(applyRun(site.Bastion("run-2")), engine.ExitOK))
	if after := site.Log(); len(after) != before {
		errs = append(errs, errors.New("the second run did something: "+after[before]))
	}
	return errors.Join(errs...)
}

// BenchmarkThousandHosts measures a site of 1,000 hosts: the time of a run, its allocations, and
// the memory that facts and a plan keep in use.
func BenchmarkThousandHosts(b *testing.B) {
	inv := thousandHosts()
	var allocated, live uint64
	for b.Loop() {
		benchmarkInBubble(b, func(t *testing.T) error {
			site := newSite(inv)
			before := heapStats()
			plan, sight, err := site.Bastion("run-0").Run().Plan(t.Context())
			after := heapStats()
			live += after.HeapAlloc - before.HeapAlloc
			runtime.KeepAlive(plan)
			runtime.KeepAlive(sight)
			if err != nil || len(plan.Hosts) != len(inv.Hosts) {
				return errors.Join(err, fmt.Errorf("%d hosts are planned", len(plan.Hosts)))
			}
			err = checkEnd(applyRun(site.Bastion("run-1")), engine.ExitOK)
			allocated += heapStats().TotalAlloc - after.TotalAlloc
			return err
		})
	}
	hosts := float64(b.N * len(inv.Hosts))
	b.ReportMetric(float64(live)/hosts, "live-bytes/host")
	b.ReportMetric(float64(allocated)/hosts, "allocated-bytes/host")
}

func heapStats() (m runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

// benchmarkInBubble runs f with virtual time for a benchmark. testing/synctest
// creates bubbles only in a test.
func benchmarkInBubble(b *testing.B, f func(*testing.T) error) {
	b.Helper()
	var err error
	test := testing.InternalTest{Name: b.Name(), F: func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { err = f(t) })
	}}
	all := func(string, string) (bool, error) { return true, nil }
	if ok := testing.RunTests(all, []testing.InternalTest{test}); !ok || err != nil {
		b.Fatal(err)
	}
}
