package rollout

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
)

const (
	sampleEvery   = 10 * time.Second
	sampleTimeout = 30 * time.Second
)

// sampleClusters watches the etcd clusters of a plan until stop is called, each in a goroutine, so
// that a slow one does not delay the others. Samples are only reported; the run decides nothing by
// them.
func (r *Run) sampleClusters(ctx context.Context, plan engine.Plan) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg conc.WaitGroup
	for _, name := range clustersOf(plan) {
		wg.Go(func() { r.sampleCluster(ctx, name) })
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

func (r *Run) sampleCluster(ctx context.Context, name string) {
	for {
		s := r.sampleOnce(ctx, name)
		if ctx.Err() != nil { // cut short: it has no information about the cluster
			return
		}
		if r.emitEvent(engine.Event{Type: engine.EtcdSampled, Cluster: name, Etcd: &s}) != nil {
			return
		}
		if r.Clock.Sleep(ctx, sampleEvery) != nil {
			return
		}
	}
}

func (r *Run) sampleOnce(ctx context.Context, name string) engine.Sample {
	ctx, cancel := context.WithTimeoutCause(ctx, sampleTimeout, fmt.Errorf("no sample within %s", sampleTimeout))
	defer cancel()
	s := r.Clusters.Sample(ctx, name)
	if s.Voters > 0 {
		s.Quorum = engine.QuorumOf(s.Voters)
		return s
	}
	if len(s.Problems) == 0 {
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
