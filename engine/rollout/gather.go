package rollout

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/hostscript"
	"holdfast/engine/planner"
)

// Gathered has the facts of the site at one moment.
type Gathered struct {
	Facts    map[string]engine.Facts
	Clusters map[string]etcdfacts.ClusterFacts

	survey planner.Survey
}

const (
	gatherTimeout = time.Minute
	gatherForks   = 64

	// shutdownTimeout is how long a host may still answer after the order to
	// reboot. systemd allows each unit 90 s to stop.
	shutdownTimeout = 3 * time.Minute
)

func (r *Run) gatherSite(ctx context.Context) (Gathered, error) {
	began := r.Clock.Now()
	s := Gathered{Facts: r.GatherHosts(ctx), Clusters: map[string]etcdfacts.ClusterFacts{}}
	if err := ctx.Err(); err != nil {
		return s, err
	}
	reached := 0
	for _, f := range s.Facts {
		if f.Reached() {
			reached++
		}
	}
	in := r.planInput(s)
	s.survey = planner.NewSurvey(in)
	names := s.survey.ClustersAtWork()
	if r.state.gathered.Facts == nil { // the first call gathers all facts
		names = planner.ClustersConcerned(in)
	}
	s.Clusters = r.gatherClusters(ctx, names)
	r.noteEvent(event.Event{
		Type:    event.HostsGathered,
		Message: fmt.Sprintf("%d of %d hosts reached", reached, len(r.Inventory.Hosts)),
		Took:    engine.Duration(r.Clock.Now().Sub(began).Round(time.Millisecond)),
	})
	return s, ctx.Err()
}

func (r *Run) addMissingClusters(ctx context.Context, s Gathered) bool {
	before := len(s.Clusters)
	maps.Copy(s.Clusters, r.gatherMissingClusters(ctx, r.planInput(s)))
	return len(s.Clusters) > before
}

func (r *Run) gatherMissingClusters(ctx context.Context, in planner.Input) map[string]etcdfacts.ClusterFacts {
	missing := slices.DeleteFunc(planner.ClustersConcerned(in), func(name string) bool {
		_, seen := in.Clusters[name]
		return seen
	})
	seen := r.gatherClusters(ctx, missing)
	maps.Copy(seen, in.Clusters)
	return seen
}

// GatherHosts reads all hosts, in parallel, with one round trip for each host.
// An error becomes a part of the facts of its host.
func (r *Run) GatherHosts(ctx context.Context) map[string]engine.Facts {
	var mu sync.Mutex
	facts := make(map[string]engine.Facts, len(r.Inventory.Hosts))
	workers := pool.New().WithMaxGoroutines(r.forkCount(gatherForks))
	for _, h := range r.Inventory.Hosts {
		workers.Go(func() {
			f := r.gatherAwaitedHost(ctx, h)
			mu.Lock()
			defer mu.Unlock()
			facts[h.Name] = f
		})
	}
	workers.Wait()
	return facts
}

func (r *Run) forkCount(fallback int) int {
	if r.Forks > 0 {
		return r.Forks
	}
	return fallback
}

// gatherAwaitedHost waits once for a host that a dead run was rebooting, as
// long as the dead run would have waited. A staged deployment without a lock is
// booted soon, even if systemd does not report a shutdown yet: logind may delay
// the shutdown (InhibitDelayMaxSec).
func (r *Run) gatherAwaitedHost(ctx context.Context, h engine.Host) engine.Facts {
	f := r.gatherHost(ctx, h)
	run := r.Awaited[h.Name]
	if run == "" || f.Reached() && !isGoingDown(f) {
		return f
	}
	if _, before := r.waited.LoadOrStore(h.Name, true); before {
		return f
	}
	p, _ := r.Inventory.Pool(h.Pool)
	limit := time.Duration(p.Timeouts.WithDefaults().Reboot)
	r.emitWarning(fmt.Sprintf("%s: run %s was rebooting it when it ended; waiting up to %s for it to come back", h.Name, run, limit))
	began := r.Clock.Now()
	for !r.isStopping() {
		waited := r.Clock.Now().Sub(began)
		if f.Reached() && (!isGoingDown(f) || waited > shutdownTimeout) || waited > limit || r.Clock.Sleep(ctx, r.pollInterval()) != nil {
			break
		}
		f = r.gatherHost(ctx, h)
	}
	return f
}

func isGoingDown(f engine.Facts) bool {
	d := f.Staged()
	return d != nil && !d.Locked
}

// gatherHost reads one host. An error becomes a part of the facts. A host that
// is shutting down counts as unreachable: its facts are about to change, and
// the shutdown would interrupt all work on the host.
func (r *Run) gatherHost(ctx context.Context, h engine.Host) engine.Facts {
	f, err := r.readFacts(ctx, h, r.runIdempotent)
	if err == nil && f.Stopping {
		err = errors.New("it is shutting down")
	}
	if err != nil {
		failure := asFailure(err, h.Name, "gather facts")
		failure.Kind = engine.UnreachableFailure
		r.noteEvent(event.Event{Type: event.HostGathered, Host: h.Name, Failure: failure})
		unreachable := failure.Cause
		if failure.Hint != "" {
			unreachable += "; " + failure.Hint
		}
		return engine.Facts{Host: h.Name, Unreachable: unreachable}
	}
	return f
}

// scriptRunner is runScript or runIdempotent.
type scriptRunner func(ctx context.Context, host string, s Script) (Reply, error)

func (r *Run) readFacts(ctx context.Context, h engine.Host, run scriptRunner) (engine.Facts, error) {
	desired := r.Desired[h.Name]
	var commands []engine.Command
	for _, m := range r.Modules {
		if m.Observer != nil {
			commands = append(commands, m.Observer.Probe(desired)...)
		}
	}
	mark := randomMark()
	reply, err := run(ctx, h.Name, Script{
		Purpose: ProbeScript, Probe: Probe{commands, mark}, Text: hostscript.ProbeScript(commands, mark), Timeout: gatherTimeout,
	})
	if err != nil {
		return engine.Facts{}, err
	}
	outputs, err := hostscript.ReadOutputs(commands, mark, reply.Stdout, reply.Stderr)
	if err != nil {
		return engine.Facts{}, err
	}
	facts := engine.Facts{Host: h.Name, GatheredAt: r.Clock.Now().UTC()}
	for _, m := range r.Modules {
		if m.Observer != nil {
			facts = m.Observer.Read(desired, outputs, facts)
		}
	}
	return facts, nil
}

func randomMark() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails, see the documentation of crypto/rand
	return "=holdfast-" + hex.EncodeToString(b)
}

// GatherClusters gathers every etcd cluster of the inventory that has a selected member.
func (r *Run) GatherClusters(ctx context.Context) map[string]etcdfacts.ClusterFacts {
	return r.gatherClusters(ctx, planner.ClustersConcerned(planner.Input{Request: planner.Request{Inventory: r.Inventory, Selected: r.Selected}}))
}

func (r *Run) gatherClusters(ctx context.Context, names []string) map[string]etcdfacts.ClusterFacts {
	var mu sync.Mutex
	seen := make(map[string]etcdfacts.ClusterFacts, len(names))
	workers := pool.New().WithMaxGoroutines(r.forkCount(gatherForks))
	for _, name := range names {
		workers.Go(func() {
			c := r.Clusters.Gather(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			seen[name] = c
		})
	}
	workers.Wait()
	return seen
}

// gatherAtEnd gathers facts once more if staging or a batch ended early, so
// that the end of the run reports the current state of the hosts.
func (r *Run) gatherAtEnd(ctx context.Context, err error) {
	if err == nil || !r.state.hasBegun() || ctx.Err() != nil || r.events.firstError() != nil {
		return
	}
	if gathered, err := r.gatherSite(ctx); err == nil {
		r.state.gathered = gathered
	}
}
