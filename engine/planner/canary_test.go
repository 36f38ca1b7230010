package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// The plan names the canaries and the batches that wait for them. The run later
// does the same, with a canary that a dead run left behind, and with a canary
// that is not disrupted.
func TestCanaryBatches(t *testing.T) {
	reboot := machine{work: "reboot"}
	for _, tc := range []struct {
		name     string
		hosts    []machine
		canaries int
		want     string
	}{
		{"one goes, and soaks", []machine{reboot, reboot, reboot}, 1, "worker-0!|1m:worker-1 worker-2"},
		{"two go", []machine{reboot, reboot, reboot}, 2, "worker-0 worker-1!|1m:worker-2"},
		{"one matches already, since long", []machine{{}, reboot, reboot}, 1, "worker-1 worker-2"},
		{"one was left behind, and is only brought back", []machine{{hold: "dead"}, reboot, reboot}, 1, "worker-0|1m:worker-1 worker-2"},
		{"one was left behind, and is updated", []machine{{hold: "dead", work: "reboot"}, reboot, reboot}, 1, "worker-0!|1m:worker-1 worker-2"},
		{"one notices nothing", []machine{{work: "quiet"}, reboot, reboot}, 1, "worker-0|1m:worker-1 worker-2"},
		{"two were left behind, and one of them notices nothing", []machine{{work: "quiet", hold: "dead"}, {work: "reboot", hold: "dead"}, reboot}, 1, "worker-0 worker-1!|1m:worker-2"},
		{"more of them than hosts", []machine{reboot, reboot}, 5, "worker-0 worker-1!"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &world{pools: []engine.Pool{{Name: "worker", MaxUnavailable: engine.CountOrPercent{Count: 2}, Canary: &engine.Canary{
				Hosts: engine.CountOrPercent{Count: tc.canaries}, Soak: engine.Duration(60e9),
			}}}}
			for i, m := range tc.hosts {
				w.hosts = append(w.hosts, worker(i).in(m))
			}
			var got []string
			for _, b := range planner.NewPlan(w.input()).Batches {
				text := strings.Join(b.Hosts, " ")
				if slices.Equal(b.Canaries, []string{"worker"}) {
					text += "!"
				}
				if b.Soak > 0 {
					text = fmt.Sprintf("%.0fm:%s", float64(b.Soak)/60e9, text)
				}
				got = append(got, text)
			}
			if strings.Join(got, "|") != tc.want {
				t.Errorf("got %s, not %s", strings.Join(got, "|"), tc.want)
			}
		})
	}
}

// A host that a dead run left behind is down already: it waits for no soak, and
// so goes before hosts of other pools.
func TestHostLeftBehindWaitsForNoSoak(t *testing.T) {
	left := machine{work: "reboot", hold: "dead"}
	one := engine.CountOrPercent{Count: 1}
	edge := machine{name: "edge-0", pool: "edge", work: "reboot"}
	w := &world{
		pools: []engine.Pool{{Name: "worker", MaxUnavailable: one, Canary: &engine.Canary{Hosts: one, Soak: engine.Duration(60e9)}}, {Name: "edge", MaxUnavailable: one}},
		hosts: []*machine{worker(0).in(left), worker(1).in(left), &edge},
	}
	var got []string
	for _, b := range planner.NewPlan(w.input()).Batches {
		got = append(got, strings.Join(b.Hosts, " "))
	}
	if want := "worker-0|worker-1|edge-0"; strings.Join(got, "|") != want {
		t.Errorf("got %s, not %s", strings.Join(got, "|"), want)
	}
}

// TestHostsLeftBehindAreCanariesToo: hosts that a dead run left behind are recovered although they are more than the canaries,
// but not all at once: their work may be another one than that of the dead run, which nobody has tried. They wait for no soak.
func TestHostsLeftBehindAreCanariesToo(t *testing.T) {
	left := machine{work: "reboot", hold: "dead"}
	w := &world{
		pools: []engine.Pool{{Name: "worker", MaxUnavailable: engine.CountOrPercent{Count: 4}, Canary: &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}, Soak: engine.Duration(60e9)}}},
	}
	for i := range 4 {
		w.hosts = append(w.hosts, worker(i).in(left))
	}
	var got []string
	for _, b := range planner.NewPlan(w.input()).Batches {
		got = append(got, strings.Join(b.Hosts, " "))
	}
	if want := "worker-0|worker-1 worker-2 worker-3"; strings.Join(got, "|") != want {
		t.Errorf("got %s, not %s", strings.Join(got, "|"), want)
	}
}

// If several pools share a batch, the plan names the pools whose hosts are
// canaries.
func TestSharedCanaryBatch(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "edge"}, {Name: "worker", Canary: &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}}}}}
	edge := worker(1).in(machine{work: "reboot"})
	edge.pool = "edge"
	w.hosts = append(w.hosts, worker(0).in(machine{work: "reboot"}), edge, worker(2).in(machine{work: "reboot"}))
	b := planner.NewPlan(w.input()).Batches
	if len(b) != 2 || len(b[0].Pools) != 2 || !slices.Equal(b[0].Canaries, []string{"worker"}) || len(b[1].Canaries) > 0 {
		t.Errorf("%+v", b)
	}
}

// A window that is open, but not for long enough, is not called closed.
func TestWindowClosesTooSoon(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "worker", BatchTakes: engine.Duration(3600e9)}}, hosts: []*machine{worker(0).in(machine{work: "reboot"})}}
	for window, want := range map[[2]int]string{ // now is 12:00
		{660, 730}: "pool worker: its maintenance window closes at 12:10 UTC, too soon for a batch of 1h (daily 11:00-12:10 UTC); the next may begin on Mon 2026-03-02 11:00 UTC",
		{780, 900}: "pool worker: outside its maintenance window for a batch of 1h (daily 13:00-15:00 UTC); the next may begin on Sun 2026-03-01 13:00 UTC",
		{780, 800}: "pool worker: no maintenance window is long enough for a batch of 1h",
	} {
		w.pools[0].Windows = []engine.Window{{FromMinutes: window[0], ToMinutes: window[1]}}
		p := planner.NewPlan(w.input())
		if len(p.Excluded) != 1 || !strings.HasPrefix(p.Excluded[0].Reason, strings.TrimSuffix(want, ")")) && p.Excluded[0].Reason != want {
			t.Errorf("%v: %v, not %s", window, p.Excluded, want)
		}
		if !slices.ContainsFunc(p.Hosts, func(hp engine.HostPlan) bool { return hp.Host == "worker-0" }) || len(p.Lanes) != 1 || len(p.Batches) > 0 {
			t.Errorf("%v: it is not only staged: %+v", window, p)
		}
	}
}

// A host on which a play skips a task does not count as a canary for this play,
// unless the run has carried out the other tasks there.
func TestSkippedHostIsNoCanary(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "worker", MaxUnavailable: engine.CountOrPercent{Count: 3}, Canary: &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}}}}}
	w.hosts = []*machine{worker(0), worker(1).in(machine{work: "reboot"}), worker(2).in(machine{work: "reboot"})}
	in := w.input()
	in.Play = &engine.Play{Tasks: []engine.Task{{Module: engine.RebootTask, Skip: map[string]bool{"worker-0": true}}}}
	if b := planner.NewPlan(in).Batches; len(b) != 2 || !slices.Equal(b[0].Hosts, []string{"worker-1"}) || len(b[0].Canaries) != 1 {
		t.Errorf("%+v", b)
	}
	in.Done = map[string]time.Time{"worker-0": now}
	if b := planner.NewPlan(in).Batches; len(b) != 1 {
		t.Errorf("worker-0 has gone: %+v", b)
	}
}
