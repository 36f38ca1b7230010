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
	"holdfast/engine/hostscript"
	"holdfast/engine/planner"
)

// Gathered is what the site was seen to be at one moment.
type Gathered struct {
	Facts    map[string]engine.Facts
	Clusters map[string]engine.ClusterFacts

	survey planner.Survey
}

const (
	gatherTimeout = time.Minute
	gatherForks   = 64

	// shutdownTimeout is how long a host that was ordered to reboot may go on
	// answering; systemd gives each unit 90 s to stop.
	shutdownTimeout = 3 * time.Minute
)

// GatherSite gathers the facts of every host, in one round trip each and side by
// side, and then those of the etcd clusters that the work concerns.
func (r *Run) GatherSite(ctx context.Context) (Gathered, error) {
	return r.gatherSite(ctx, newRunState())
}

func (r *Run) gatherSite(ctx context.Context, p *runState) (Gathered, error) {
	began := r.Clock.Now()
	s := Gathered{Facts: r.gatherHosts(ctx), Clusters: map[string]engine.ClusterFacts{}}
	if err := ctx.Err(); err != nil {
		return s, err
	}
	reached := 0
	for _, f := range s.Facts {
		if f.Reached() {
			reached++
		}
	}
	in := r.planInput(s, p)
	s.survey = planner.NewSurvey(in)
	names := s.survey.ClustersAtWork()
	if p.gathered.Facts == nil { // the first look is at everything
		names = planner.ClustersConcerned(in)
	}
	s.Clusters = r.gatherClusters(ctx, names)
	r.noteEvent(engine.Event{
		Type:    engine.HostsGathered,
		Message: fmt.Sprintf("%d of %d hosts reached", reached, len(r.Inventory.Hosts)),
		Took:    engine.Duration(r.Clock.Now().Sub(began).Round(time.Millisecond)),
	})
	return s, ctx.Err()
}

// addMissingClusters looks at the clusters of the run's hosts that were not looked
// at, as they have no work. It reports whether there were any.
func (r *Run) addMissingClusters(ctx context.Context, p *runState, s Gathered) bool {
	before := len(s.Clusters)
	maps.Copy(s.Clusters, r.gatherMissingClusters(ctx, r.planInput(s, p)))
	return len(s.Clusters) > before
}

// gatherMissingClusters looks at the clusters that an input is about and that it does not
// have. It returns these and those it has.
func (r *Run) gatherMissingClusters(ctx context.Context, in planner.Input) map[string]engine.ClusterFacts {
	missing := slices.DeleteFunc(planner.ClustersConcerned(in), func(name string) bool {
		_, seen := in.Clusters[name]
		return seen
	})
	seen := r.gatherClusters(ctx, missing)
	maps.Copy(seen, in.Clusters)
	return seen
}

// GatherHosts reads every host, in one round trip each and side by side. What goes
// wrong with one is in its facts.
func (r *Run) GatherHosts(ctx context.Context) map[string]engine.Facts { return r.gatherHosts(ctx) }

func (r *Run) gatherHosts(ctx context.Context) map[string]engine.Facts {
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

// gatherAwaitedHost gathers a host; if a dead run was rebooting it, it is waited
// for as long as that run would have, once. What is staged and not locked is on
// its way into a reboot, also before systemd says that it is stopping: logind
// may delay a shutdown that it was asked for (InhibitDelayMaxSec).
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

// gatherHost reads one host. What goes wrong is in the facts: only that host is
// out. One that is shutting down is as good as gone: whatever is begun there
// now is cut short, and what it tells is not what it will be.
func (r *Run) gatherHost(ctx context.Context, h engine.Host) engine.Facts {
	f, err := r.readFacts(ctx, h, r.runIdempotent)
	if err == nil && f.Stopping {
		err = errors.New("it is shutting down")
	}
	if err != nil {
		failure := asFailure(err, h.Name, "gather facts")
		failure.Kind = KindUnreachable
		r.noteEvent(engine.Event{Type: engine.HostGathered, Host: h.Name, Failure: failure})
		unreachable := failure.Cause
		if failure.Hint != "" {
			unreachable += "; " + failure.Hint
		}
		return engine.Facts{Host: h.Name, Unreachable: unreachable}
	}
	return f
}

// scriptRunner runs a script on a host: exec or insist.
type scriptRunner func(ctx context.Context, host string, s Script) (Reply, error)

// readFacts asks a host everything the modules want to know, in one round trip.
func (r *Run) readFacts(ctx context.Context, h engine.Host, run scriptRunner) (engine.Facts, error) {
	desired := r.Desired[h.Name]
	var commands []engine.Command
	for _, m := range r.Modules {
		commands = append(commands, m.Probe(desired)...)
	}
	mark := randomMark()
	reply, err := run(ctx, h.Name, Script{Text: hostscript.ProbeScript(commands, mark), Timeout: gatherTimeout})
	if err != nil {
		return engine.Facts{}, err
	}
	outputs, err := hostscript.ReadOutputs(commands, mark, reply.Stdout, reply.Stderr)
	if err != nil {
		return engine.Facts{}, err
	}
	facts := engine.Facts{Host: h.Name, GatheredAt: r.Clock.Now().UTC()}
	for _, m := range r.Modules {
		facts = m.Read(desired, outputs, facts)
	}
	return facts, nil
}

func randomMark() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails, says its documentation
	return "=holdfast-" + hex.EncodeToString(b)
}

// GatherClusters looks at every etcd cluster of the inventory with a selected member.
func (r *Run) GatherClusters(ctx context.Context) map[string]engine.ClusterFacts {
	return r.gatherClusters(ctx, planner.ClustersConcerned(planner.Input{Inventory: r.Inventory, Selected: r.Selected}))
}

// gatherClusters looks at etcd clusters side by side.
func (r *Run) gatherClusters(ctx context.Context, names []string) map[string]engine.ClusterFacts {
	var mu sync.Mutex
	seen := make(map[string]engine.ClusterFacts, len(names))
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
