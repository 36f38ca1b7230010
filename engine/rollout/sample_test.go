package rollout_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// sampleEvents returns the samples of a run that were not part of a quorum check.
func sampleEvents(b *simulator.Bastion) (all []event.Event) {
	for _, e := range b.Events() {
		if e.Type == event.EtcdSampled && (e.Time.Nanosecond() != 0 || len(e.Etcd.Problems) > 0) {
			all = append(all, e)
		}
	}
	return all
}

// TestSamples checks that the journal has a sample of etcd every ten seconds,
// which shows the member that is away.
func TestSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 1))
		b := site.Bastion("run-1")
		failOnErrors(t, checkEnd(applyRun(b, runSerially), engine.ExitOK))
		all := sampleEvents(b)
		took := b.Events()[len(b.Events())-1].Time.Sub(b.Events()[0].Time)
		if want := int(took / (10 * time.Second)); len(all) < want-1 || len(all) > want+1 {
			t.Errorf("%d samples in %s", len(all), took)
		}
		var healthy []int
		for _, e := range all {
			if e.Cluster != "main" || e.Etcd.Voters != 3 || e.Etcd.Quorum != 2 || e.Etcd.Leader == "" {
				t.Errorf("%+v of %s", e.Etcd, e.Cluster)
			}
			healthy = append(healthy, e.Etcd.Healthy)
		}
		if slices.Min(healthy) != 2 || healthy[0] != 3 || healthy[len(healthy)-1] != 3 {
			t.Errorf("healthy voters were %v", healthy)
		}
		if last := b.Events()[len(b.Events())-1]; last.Type != event.RunEnded {
			t.Errorf("the last event is %s", last.Type)
		}
	})
}

// TestSampleFails checks that a failed sample is journaled, and stops nothing.
func TestSampleFails(t *testing.T) {
	for name, breaks := range map[string]func(*simulator.Bastion){
		"connection lost": func(b *simulator.Bastion) {
			b.Fault = func(c simulator.Call) simulator.Fault {
				if c.Verb == "sample" {
					return simulator.LostThere
				}
				return simulator.NoFault
			}
		},
		"no sample within 30s": func(b *simulator.Bastion) {
			b.Latency = func(c simulator.Call) time.Duration {
				if c.Verb == "sample" {
					return time.Hour
				}
				return 0
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(simulator.Fleet(3, 0))
				b := site.Bastion("run-1")
				breaks(b)
				failOnErrors(t, checkEnd(applyRun(b, runSerially), engine.ExitOK), checkConverged(site))
				all := sampleEvents(b)
				if len(all) == 0 {
					t.Error("nothing is said")
				}
				for _, e := range all {
					if !strings.Contains(strings.Join(e.Etcd.Problems, " "), name) {
						t.Errorf("%+v", e.Etcd)
					}
				}
			})
		})
	}
}

// slowClusters take time to end a canceled sample.
type slowClusters struct {
	rollout.Clusters
	under *atomic.Int32
}

func (c slowClusters) Sample(ctx context.Context, _ string) event.Sample {
	c.under.Add(1)
	defer c.under.Add(-1)
	<-ctx.Done()
	time.Sleep(time.Second)
	return event.Sample{}
}

// TestSampleAwaited checks that no sample is still running after the end of a
// run.
func TestSampleAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 0))
		var under atomic.Int32
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-1"), func(r *rollout.Run) { r.Clusters = slowClusters{r.Clusters, &under} }), engine.ExitOK))
		if n := under.Load(); n != 0 {
			t.Errorf("%d samples are under way", n)
		}
	})
}
