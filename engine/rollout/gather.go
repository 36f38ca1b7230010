package rollout

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/hostscript"
	"holdfast/engine/planner"
	"holdfast/engine/standing"
)

const (
	gatherTimeout = time.Minute

	// shutdownTimeout is how long a host may still answer after the order to
	// reboot. systemd allows each unit 90 s to stop.
	shutdownTimeout = 3 * time.Minute
)

// gatherer reads hosts and clusters.
type gatherer struct {
	hostAccess
	*emitter
	waited sync.Map // hosts of Awaited that the run has waited for
	powers sync.Map // power of held hosts that did not answer, by host: each controller is asked once
}

func newGatherer(r *Run) *gatherer {
	return &gatherer{hostAccess: newHostAccess(r), emitter: newEmitter(r)}
}

// GatherHosts reads all hosts, in parallel, with one round trip for each host.
// An error becomes a part of the facts of its host.
func (r *Run) GatherHosts(ctx context.Context) map[string]engine.Facts {
	return newGatherer(r).gatherHosts(ctx)
}

// ReadHosts is GatherHosts for hosts that may be several names of one machine: each name keeps its facts.
func (r *Run) ReadHosts(ctx context.Context) map[string]engine.Facts {
	return newGatherer(r).readHosts(ctx)
}

// GatherClusters gathers every etcd cluster of the inventory that has a selected member.
func (r *Run) GatherClusters(ctx context.Context) map[string]etcdfacts.ClusterFacts {
	return newGatherer(r).gatherClusters(ctx, planner.ClustersConcerned(planner.Input{Request: planner.Request{Inventory: r.Inventory, Selected: r.Selected}}))
}

// GatherOtherClusters returns the known clusters, and gathers every other etcd cluster of the inventory that has a member.
func (r *Run) GatherOtherClusters(ctx context.Context, known map[string]etcdfacts.ClusterFacts) map[string]etcdfacts.ClusterFacts {
	p := newPlanning(r)
	in := p.planInput(Gathered{Clusters: known})
	in.Selected = nil
	return p.gatherMissingClusters(ctx, in)
}

func (g *gatherer) gatherHosts(ctx context.Context) map[string]engine.Facts {
	facts := g.readHosts(ctx)
	for _, name := range engine.MarkSameMachines(facts) {
		g.noteUnreachable(engine.Failure{Host: name, Step: "gather facts", Cause: facts[name].Unreachable})
	}
	g.recallHolds(ctx, facts)
	return facts
}

func (g *gatherer) readHosts(ctx context.Context) map[string]engine.Facts {
	var mu sync.Mutex
	facts := make(map[string]engine.Facts, len(g.Inventory.Hosts))
	workers := pool.New().WithMaxGoroutines(g.forkCount(gatherForks))
	inv, _ := standing.WithoutLeaving(g.Inventory)
	for _, h := range inv.Hosts {
		workers.Go(func() {
			f := g.gatherAwaitedHost(ctx, h)
			mu.Lock()
			defer mu.Unlock()
			facts[h.Name] = f
		})
	}
	workers.Wait()
	return facts
}

func (g *gatherer) noteUnreachable(failure engine.Failure) {
	failure.Kind = engine.UnreachableFailure
	g.noteEvent(event.Event{Type: event.HostGathered, Host: failure.Host, Failure: &failure})
}

// gatherAwaitedHost waits once for a host that a dead run was rebooting, as
// long as the dead run would have waited. A staged deployment without a lock is
// booted soon, even if systemd does not report a shutdown yet: logind may delay
// the shutdown (InhibitDelayMaxSec).
func (g *gatherer) gatherAwaitedHost(ctx context.Context, h engine.Host) engine.Facts {
	f := g.gatherHost(ctx, h)
	run := g.Awaited[h.Name]
	if run == "" || h.Maintenance != "" || f.Reached() && !isGoingDown(f) {
		return f
	}
	if _, before := g.waited.LoadOrStore(h.Name, true); before {
		return f
	}
	p, _ := g.Inventory.Pool(h.Pool)
	limit := time.Duration(p.RebootLimit(h))
	g.emitWarning(fmt.Sprintf("%s: run %s was rebooting it when it ended; waiting up to %s for it to come back", h.Name, run, limit))
	began := g.Clock.Now()
	for !g.isStopping() {
		waited := g.Clock.Now().Sub(began)
		if f.Reached() && (!isGoingDown(f) || waited > shutdownTimeout) || waited > limit || g.Clock.Sleep(ctx, g.pollInterval()) != nil {
			break
		}
		f = g.gatherHost(ctx, h)
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
func (g *gatherer) gatherHost(ctx context.Context, h engine.Host) engine.Facts {
	f, err := g.readFacts(ctx, h, g.runIdempotent)
	if err == nil && f.Stopping {
		err = errors.New("it is shutting down")
	}
	if err != nil {
		failure := asFailure(err, h.Name, "gather facts")
		g.noteUnreachable(*failure)
		unreachable := failure.Cause
		if failure.Hint != "" {
			unreachable += "; " + failure.Hint
		}
		return engine.Facts{Host: h.Name, Unreachable: unreachable, Silent: failure.Silent}
	}
	return f
}

// scriptRunner is runScript or runIdempotent.
type scriptRunner func(ctx context.Context, host string, s Script) (Reply, error)

func (g *gatherer) readFacts(ctx context.Context, h engine.Host, run scriptRunner) (engine.Facts, error) {
	desired := g.Desired[h.Name]
	var commands []engine.Command
	for _, m := range g.Modules {
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
	facts := engine.Facts{Host: h.Name, GatheredAt: g.Clock.Now().UTC()}
	for _, m := range g.Modules {
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

func (g *gatherer) gatherClusters(ctx context.Context, names []string) map[string]etcdfacts.ClusterFacts {
	var mu sync.Mutex
	seen := make(map[string]etcdfacts.ClusterFacts, len(names))
	workers := pool.New().WithMaxGoroutines(g.forkCount(gatherForks))
	for _, name := range names {
		workers.Go(func() {
			c := g.Clusters.Gather(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			seen[name] = c
		})
	}
	workers.Wait()
	return seen
}
