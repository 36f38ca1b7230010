// Package rollout is the imperative shell around package engine: it gathers
// facts from hosts, interprets steps, and runs the one loop of gather, plan,
// check, run the first batch, until nothing is left or it is not safe to go
// on. It is the only place that changes hosts.
//
// It does not decide which work to do: the plan does.
// It may not be imported by its siblings, and imports none of them: SSH, etcd
// and output reach it through the interfaces below.
package rollout

import (
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// Play is a play of a playbook, with its modules and its hosts.
type Play struct {
	engine.Play
	Modules  []engine.Module
	Selected func(engine.Host) bool
}

// Options are how a run is to go. A run changes none of them.
type Options struct {
	Start     engine.RunStart
	ID        string
	Inventory engine.Inventory
	Desired   map[string]engine.Desired
	Modules   []engine.Module
	Selected  func(engine.Host) bool
	Plays     []Play // of a playbook, one after the other; none: all hosts are made to match

	Dead        []string          // runs of this bastion that ended without releasing their holds
	Awaited     map[string]string // hosts that a dead run was rebooting, and its ID; the run waits for them
	Retry       []string          // hosts that failed in the run before; they come first
	CompletedOS map[string]string // by pool: the last OS that a run of this bastion found on all its hosts

	RefuseHeld     bool     // refuse the run if any host is held by somebody else
	BestEffort     bool     // other hosts of a pool begin although some have failed
	AnyEtcdVersion bool     // an OS may be booted whose etcd the cluster does not support
	OverIncomplete bool     // another OS may be rolled out although the last roll-out is unfinished
	RetryRejected  bool     // hosts try an OS again that they rejected
	Repair         []string // hosts that may be disrupted although their own etcd member is unhealthy

	Forks    int           // hosts gathered or staged in parallel; 0: 64 and 8
	Interval time.Duration // between two probes of a condition; 0: 500 ms
}

// Run is one execution of apply or plan. It has options, ports to everything outside, and its
// progress.
type Run struct {
	Options
	Ports

	events emitter
	waited sync.Map  // hosts of Awaited that the run has waited for
	state  *runState // since the last call of Plan, PlanPlays or Apply
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
		Inventory: r.Inventory, Desired: r.Desired, Facts: s.Facts, Clusters: s.Clusters,
		Modules: r.Modules, Run: r.ID, Bastion: r.Start.Bastion, Dead: r.Dead, Selected: r.Selected, Saved: r.state.saved, Approved: r.state.approved, Ran: r.state.runningBefore(),
		Now: r.Clock.Now(), Began: r.state.began, Batches: r.state.batches - r.state.earlier, Done: r.state.doneSince(), Failed: r.state.failureByHost(), Retry: r.Retry, ActionFailed: r.state.hostsWithFailedAction(), AdoptedEarlier: r.state.adoptedHosts(), CompletedOS: r.CompletedOS,
		BestEffort: r.BestEffort, OverIncomplete: r.OverIncomplete, RetryRejected: r.RetryRejected, Repair: r.Repair, AnyEtcdVersion: r.AnyEtcdVersion,
	}
	if r.state.play != nil {
		in.Play, in.Modules, in.Selected = &r.state.play.Play, r.state.play.Modules, r.state.play.Selected
	}
	return in
}
