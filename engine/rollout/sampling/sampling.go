// Package sampling samples the etcd clusters during a run. The run reports the
// samples, but bases no decision on them.
package sampling

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/event"
)

// Ports are the connections of the sampling to its environment.
type Ports struct {
	Sleep  func(context.Context, time.Duration) error // for a duration, or until the context ends
	Sample func(ctx context.Context, cluster string) event.Sample
	Emit   func(event.Event) error
}

const (
	sampleEvery   = 10 * time.Second
	sampleTimeout = 30 * time.Second
)

// Start samples each cluster that has a host in the plan, unless all its hosts
// there are changed without a disruption. Each cluster has a goroutine of its
// own, so a slow cluster does not delay the others. stop ends the sampling and
// waits for the goroutines.
func Start(ctx context.Context, p Ports, plan engine.Plan) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg conc.WaitGroup
	for _, name := range clustersOf(plan) {
		wg.Go(func() { p.sampleCluster(ctx, name) })
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

func (p Ports) sampleCluster(ctx context.Context, name string) {
	for {
		s := p.sampleOnce(ctx, name)
		if ctx.Err() != nil { // the sample was canceled and has no information about the cluster
			return
		}
		if p.Emit(event.Event{Type: event.EtcdSampled, Cluster: name, Etcd: &s}) != nil {
			return
		}
		if p.Sleep(ctx, sampleEvery) != nil {
			return
		}
	}
}

func (p Ports) sampleOnce(ctx context.Context, name string) event.Sample {
	ctx, cancel := context.WithTimeoutCause(ctx, sampleTimeout, fmt.Errorf("no sample within %s", sampleTimeout))
	defer cancel()
	s := p.Sample(ctx, name)
	if s.Voters == 0 && len(s.Problems) == 0 {
		s.Problems = []string{"nothing is known about the cluster"}
		if cause := context.Cause(ctx); cause != nil {
			s.Problems = []string{cause.Error()}
		}
	}
	return s
}

func clustersOf(plan engine.Plan) []string {
	var names []string
	for _, hp := range plan.Hosts {
		if hp.Cluster != "" && !hp.NonDisruptive() && !slices.Contains(names, hp.Cluster) {
			names = append(names, hp.Cluster)
		}
	}
	sort.Strings(names)
	return names
}
