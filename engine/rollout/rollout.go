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
	"context"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/planner"
	"holdfast/engine/rollout/gate"
)

// Script is a POSIX sh script for a host. It runs as root.
type Script struct {
	Text    string
	Timeout time.Duration   // 0: only the context bounds it
	Live    func([]byte)    // sees standard output as it comes; may be nil
	Uploads []engine.Upload // as a tar archive on its standard input

	// Purpose says why the script runs, and Op has the operation of a StepScript. Simulated hosts act on both.
	Purpose Purpose
	Op      engine.Op
}

// Purpose says why a run sends a script to a host.
type Purpose string

// The purposes of scripts.
const (
	StepScript      Purpose = ""           // the operation of a step, or a gate
	ProbeScript     Purpose = "probe"      // gathers facts
	ReadHoldScript  Purpose = "look"       // reads the hold of a host
	CheckHoldScript Purpose = "check hold" // checks that the run holds the host
	FailHoldScript  Purpose = "fail hold"  // writes a failure into the hold of the run
	AbortScript     Purpose = "abort"      // ends processes of an interrupted step
	LogScript       Purpose = "log"        // reads the log of a unit
	StateScript     Purpose = "state"      // asks whether the host goes down
)

// Reply has the output of a script and its exit status.
type Reply struct {
	Stdout, Stderr string
	Code           int
}

// TooMuchOutput is the error of a script that printed more than the limit. The script is not run
// again: it would cost as much as the first time.
type TooMuchOutput struct{ Cause error }

// Error returns the cause's text.
func (e TooMuchOutput) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e TooMuchOutput) Unwrap() error { return e.Cause }

// Conn is a connection to one host.
type Conn interface {
	// Run runs a script. The error is about the connection; a script that
	// exits with another status than 0 is no error here.
	Run(context.Context, Script) (Reply, error)
}

// Hosts connects to hosts. Connect returns the open connection of a host while that works, so that
// a run uses one per host.
type Hosts interface {
	Connect(context.Context, engine.Host) (Conn, error)
}

// Clusters talks to etcd clusters, by their name in the inventory.
type Clusters interface {
	Gather(ctx context.Context, cluster string) engine.ClusterFacts
	MoveLeader(ctx context.Context, cluster, host string) (to string, err error)
	// AwaitMember waits until the host's member is healthy, and reports meanwhile the missing condition.
	AwaitMember(ctx context.Context, cluster, host string, tell func(missing string)) error
	Snapshot(ctx context.Context, cluster string) (where string, err error)
	// Defragment frees unused space of the host's member, and returns the number of bytes.
	Defragment(ctx context.Context, cluster, host string) (freed int64, err error)
	Sample(ctx context.Context, cluster string) engine.Sample
}

// Local runs commands of the inventory on the bastion.
type Local interface {
	Run(ctx context.Context, command string, env []string) (Reply, error)
}

// Web asks web servers from the bastion, for gates.
type Web = gate.Web

// Sink takes the events of a run in order. An error stops the run: nothing is done that cannot be
// journaled.
type Sink interface {
	Emit(engine.Event) error
}

// Clock is the time; tests replace it.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Play is a play of a playbook, with its modules and its hosts.
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

	Forks       int                                      // hosts gathered or staged in parallel; 0: 64 and 8
	Dead        []string                                 // runs of this bastion that ended without releasing their holds
	Awaited     map[string]string                        // hosts that a dead run was rebooting, and its ID; the run waits for them
	Approve     func(context.Context, engine.Plan) error // asks the operator; nil: approved
	Soft        context.Context                          // done at the first Ctrl-C; the context of a call ends at the second
	Hide        func(string) string                      // removes secrets from texts that are written to hosts; nil: there are none
	Plays       []Play                                   // of a playbook, one after the other; none: all hosts are made to match
	RefuseHeld  bool                                     // refuse the run if any host is held by somebody else
	Retry       []string                                 // hosts that failed in the run before; they come first
	CompletedOS map[string]string                        // by pool: the last OS that a run of this bastion found on all its hosts
	Step        func(context.Context, engine.Plan) error // asks the operator before each batch that disrupts; nil: goes on
	Interval    time.Duration                            // between two probes of a condition; 0: 500 ms

	BestEffort     bool // other hosts of a pool begin although some have failed
	OverIncomplete bool // another OS may be rolled out although the last roll-out is unfinished
	RetryRejected  bool // hosts try an OS again that they rejected

	Repair []string // hosts that may be disrupted although their own etcd member is unhealthy

	events       emitter
	waited       sync.Map      // hosts of Awaited that the run has waited for
	sharedGather *sharedGather // of the current batch
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

func (r *Run) planInput(s Gathered, p *runState) planner.Input {
	if p.began.IsZero() {
		p.began = r.Clock.Now()
	}
	in := planner.Input{
		Inventory: r.Inventory, Desired: r.Desired, Facts: s.Facts, Clusters: s.Clusters,
		Modules: r.Modules, Run: r.ID, Bastion: r.Start.Bastion, Dead: r.Dead, Selected: r.Selected, Saved: p.saved, Approved: p.approved, Ran: p.runningBefore(),
		Now: r.Clock.Now(), Began: p.began, Batches: p.batches - p.earlier, Done: p.doneSince(), Failed: p.failureByHost(), Retry: r.Retry, ActionFailed: p.hostsWithFailedAction(), AdoptedEarlier: p.adoptedHosts(), CompletedOS: r.CompletedOS,
		BestEffort: r.BestEffort, OverIncomplete: r.OverIncomplete, RetryRejected: r.RetryRejected, Repair: r.Repair,
	}
	if p.play != nil {
		in.Play, in.Modules, in.Selected = &p.play.Play, p.play.Modules, p.play.Selected
	}
	return in
}
