// Package rollout carries out plans: it gathers facts from hosts and runs steps,
// in one loop for each play. Each turn of the loop does the next piece of work,
// such as a gate, a staging or a batch. Then it gathers facts, plans again and
// checks the new plan. The loop ends when no work is left or the next step is not
// safe. Only this package makes hosts match the inventory. Apart from it, the
// commands hold, release and etcd change hosts.
//
// The plan decides the work, and this package does not. rollout uses SSH, etcd and
// output only through the interfaces in Ports. Apart from tests, only
// engine/connection and engine/bastion, which implement Ports, and cmd/holdfast
// import it.
package rollout

import (
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/planner"
)

// Play is a play of a playbook, with its modules and its hosts.
type Play struct {
	engine.Play
	Modules  []engine.Module
	Selected func(engine.Host) bool
}

// Options are the settings of a run. The run does not change them.
type Options struct {
	planner.Request

	Start      event.RunStart
	ID         string
	Plays      []Play            // plays of a playbook, in order; empty: the run makes the selected hosts match the inventory
	Awaited    map[string]string // ID of the dead run that was rebooting a host, by host; this run waits for these hosts
	RefuseHeld bool              // the run is refused if somebody else holds a host

	Forks    int           // number of hosts that are gathered or staged in parallel; 0: 64 are gathered, 8 are staged
	Interval time.Duration // time between two probes of a condition; 0: 500 ms
}

// Run belongs to one command, such as apply, plan or status. It has its options, the ports to its
// environment, and its progress.
type Run struct {
	Options
	Ports

	events emitter
	steps  atomic.Int64 // number of the last step that ran a script
	waited sync.Map     // hosts of Awaited that the run has waited for
	state  *runState    // progress since the last call of Plan, PlanPlays or Apply
}

func (r *Run) pollInterval() time.Duration {
	if r.Interval > 0 {
		return r.Interval
	}
	return 500 * time.Millisecond
}

func (r *Run) isStopping() bool {
	return r.Soft != nil && r.Soft.Err() != nil
}

func (r *Run) planInput(s Gathered) planner.Input {
	if r.state.began.IsZero() {
		r.state.began = r.Clock.Now()
	}
	in := planner.Input{
		Request: r.Request, Facts: s.Facts, Clusters: s.Clusters,
		Run: r.ID, Bastion: r.Start.Bastion, Saved: r.state.saved, Approved: r.state.approved, Ran: r.state.runningBefore(),
		Now: r.Clock.Now(), Began: r.state.began, Batches: r.state.batches - r.state.earlier, Done: r.state.doneSince(), Failed: r.state.failureByHost(),
		ActionFailed: r.state.hostsWithFailedAction(), AdoptedEarlier: r.state.adoptedHosts(),
	}
	if r.state.play != nil {
		in.Play, in.Modules, in.Selected = &r.state.play.Play, r.state.play.Modules, r.state.play.Selected
	}
	return in
}
