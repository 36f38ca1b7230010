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

	Forecast func(plan engine.Plan, now time.Time) *engine.Forecast // of the plan that the run shows; nil: none

	Forks    int           // number of hosts that are gathered or staged in parallel; 0: 64 are gathered, 8 are staged
	Interval time.Duration // time between two probes of a condition; 0: 500 ms
}

// Run belongs to one command, such as apply, plan or status: its options, and the ports to its
// environment. GatherHosts and GatherClusters only read; Plan and PlanPlays also plan; Apply carries
// the plan out. Each call begins anew.
type Run struct {
	Options
	Ports
}

func (o *Options) pollInterval() time.Duration {
	if o.Interval > 0 {
		return o.Interval
	}
	return 500 * time.Millisecond
}
