// Package rollout is the imperative shell around package engine: it gathers
// facts from hosts, interprets steps, and runs the one loop of gather, plan,
// check, run the first batch, until nothing is left or it is not safe to go
// on. It is the only place that changes hosts.
//
// It decides nothing about what is to be done: that is the plan's business.
// It may not be imported by its siblings, and imports none of them: SSH, etcd
// and output reach it through the interfaces below.
package rollout

import (
	"context"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// Script is a POSIX sh script for a host. It runs as root.
type Script struct {
	Text    string
	Timeout time.Duration   // 0: only the context bounds it
	Live    func([]byte)    // sees standard output as it comes; may be nil
	Uploads []engine.Upload // as a tar archive on its standard input
	Op      engine.Op       // what the script is for; hosts that exist only in memory act on it
}

// Reply is what a script printed and its exit status.
type Reply struct {
	Stdout, Stderr string
	Code           int
}

// Conn is a connection to one host.
type Conn interface {
	// Run runs a script. The error is about the connection; a script that
	// exits with another status than 0 is no error here.
	Run(context.Context, Script) (Reply, error)
}

// Hosts gives connections. Connect returns the connection a host already has
// while that works, so that a run uses one per host.
type Hosts interface {
	Connect(context.Context, engine.Host) (Conn, error)
}

// Clusters talks to etcd clusters, by their name in the inventory.
type Clusters interface {
	Gather(ctx context.Context, cluster string) engine.ClusterFacts
	MoveLeader(ctx context.Context, cluster, host string) (to string, err error)
	// AwaitMember waits until the host's member is back, and tells meanwhile what is missing.
	AwaitMember(ctx context.Context, cluster, host string, tell func(missing string)) error
	Snapshot(ctx context.Context, cluster string) (where string, err error)
	// Defragment gives the host's member's unused space back, and says how much that was.
	Defragment(ctx context.Context, cluster, host string) (freed int64, err error)
	Sample(ctx context.Context, cluster string) engine.Sample
}

// Local runs commands of the inventory on the bastion.
type Local interface {
	Run(ctx context.Context, command string, env []string) (Reply, error)
}

// Web asks web servers from the bastion.
type Web interface {
	// Get gives the status and the beginning of the body of the answer. The
	// error is about the connection.
	Get(ctx context.Context, url string) (status int, body []byte, err error)
}

// Sink takes the events of a run in order. An error stops the run: what
// cannot be journaled is not done.
type Sink interface {
	Emit(engine.Event) error
}

// Clock is the time, so that tests need not wait for it.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Play is a play of a playbook, with what does its tasks and the hosts that it
// is about.
type Play struct {
	engine.Play
	Modules  []engine.Module
	Selected func(engine.Host) bool
}

// Run is one execution of apply or plan.
type Run struct {
	Start     engine.RunStart
	ID        string
	Inventory engine.Inventory
	Desired   map[string]engine.Desired
	Modules   []engine.Module
	Selected  func(engine.Host) bool

	Hosts    Hosts
	Clusters Clusters
	Local    Local
	Web      Web
	Sink     Sink
	Clock    Clock

	Forks       int                                      // hosts looked at or staged at the same time; 0: 64 and 8
	Dead        []string                                 // runs of this bastion that ended without releasing their holds
	Awaited     map[string]string                        // hosts that a dead run was rebooting, and its ID: they are waited for
	Approve     func(context.Context, engine.Plan) error // asks the operator; nil: approved
	Soft        context.Context                          // done at the first Ctrl-C; the context of a call ends at the second
	Hide        func(string) string                      // takes secrets out of what is written to hosts; nil: there are none
	Plays       []Play                                   // of a playbook, one after the other; none: everything is made to match
	RefuseHeld  bool                                     // refuse the run if any host is held by somebody else
	Retry       []string                                 // hosts that failed in the run before: they go before others
	CompletedOS map[string]string                        // by pool: the OS at which a run of this bastion has last seen all its hosts
	Step        func(context.Context, engine.Plan) error // asks the operator before each batch that disrupts; nil: goes on
	Interval    time.Duration                            // between looks at something that is waited for; 0: 500 ms

	BestEffort     bool // failed hosts do not keep those of their pool from being begun
	OverIncomplete bool // an OS may be rolled out although the one before has not reached every host
	RetryRejected  bool // an OS from which a host was rolled back is tried again there

	Repair []string // hosts that may be disrupted although their own etcd member is not healthy

	events       emitter
	waited       sync.Map      // hosts of Awaited that were waited for
	sharedGather *sharedGather // of the batch that is under way
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

// planInput is what a plan depends on, with what was just seen.
func (r *Run) planInput(s Gathered, p *runState) planner.Input {
	if p.began.IsZero() {
		p.began = r.Clock.Now()
	}
	in := planner.Input{
		Inventory: r.Inventory, Desired: r.Desired, Facts: s.Facts, Clusters: s.Clusters,
		Modules: r.Modules, Run: r.ID, Bastion: r.Start.Bastion, Dead: r.Dead, Selected: r.Selected, Saved: p.saved, Approved: p.approved, Ran: p.runningBefore(),
		Now: r.Clock.Now(), Began: p.began, Batches: p.batches - p.earlier, Done: p.doneSince(), Failed: p.failureByHost(), Retry: r.Retry, ActionFailed: p.hostsWithFailedAction(), Resumed: p.adoptedHosts(), Complete: r.CompletedOS,
		BestEffort: r.BestEffort, OverIncomplete: r.OverIncomplete, RetryRejected: r.RetryRejected, Repair: r.Repair,
	}
	if p.play != nil {
		in.Play, in.Modules, in.Selected = &p.play.Play, p.play.Modules, p.play.Selected
	}
	return in
}
