package rollout

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/governor"
	"holdfast/engine/kubefacts"
	"holdfast/engine/rollout/gate"
	"holdfast/engine/textutil"
)

// Ports are the connections of a run to its environment.
type Ports struct {
	Hosts    Hosts
	Clusters Clusters
	Nodes    Nodes // nil: the inventory has no Kubernetes cluster
	Local    Local
	Web      Web
	Sink     Sink
	Clock    Clock

	Power Power      // nil: the run neither reads nor switches power
	Holds HoldMemory // nil: nobody remembers holds

	SetRate func(host string, bytesPerSecond int64) // limits the rate of contents from the bastion to a host; 0 removes the limit; nil: there is no content

	Contents Contents // nil: the bastion serves no content

	Compare func(engine.Plan) error                  // refuses the first plan of a play, also one without work, if it differs from a saved plan; nil: no plan was saved
	Approve func(context.Context, engine.Plan) error // asks the operator; nil: the plan is approved
	Step    func(context.Context, engine.Plan) error // asks the operator before each disruptive batch; nil: the batch is approved
	Soft    context.Context                          // done at the first Ctrl-C; the second Ctrl-C ends the context of the call

	NoteStatus func(engine.Status) // gets the state of the whole site at the end of Apply, by the last facts, if the run knows it; nil: nobody asks

	Secrets textutil.Secrets // hidden in everything that hosts, events and people see
}

// Script is a POSIX sh script for a host. It runs as root.
type Script struct {
	Text    string
	Timeout time.Duration   // 0: only the context limits the time
	Live    func([]byte)    // gets standard output as it arrives; may be nil
	Uploads []engine.Upload // files for the script, as a tar archive on its standard input
	Input   io.Reader       // standard input of the script, if there are no Uploads; may be nil

	Content  *engine.Content      // content that the script fetches from the bastion, through the port in its variable port; nil: none
	Transfer func(event.Progress) // gets the progress of the transfer of Content; may be nil
	Step     int64                // number of the step in the run; Transfer counts over all attempts of a step
	Sent     *atomic.Bool         // set when the script may have reached the host; nil: nobody asks

	// Purpose is the reason for the script, Op is the operation of a StepScript,
	// and Probe has the parts of a ProbeScript. Simulated hosts act on them.
	Purpose Purpose
	Op      engine.Op
	Probe   Probe
}

// Probe has the arguments from which hostscript.ProbeScript makes a script.
type Probe struct {
	Commands []engine.Command
	Mark     string
}

// Purpose is the reason for which a run sends a script to a host. Scripts about
// holds have the purposes of package hold.
type Purpose string

// The purposes of scripts.
const (
	StepScript  Purpose = ""      // runs the operation of a step, or a gate
	ProbeScript Purpose = "probe" // gathers facts
	AbortScript Purpose = "abort" // ends processes of an interrupted step
	LogScript   Purpose = "log"   // reads the log of a unit
	StateScript Purpose = "state" // asks whether the host is shutting down
	UndoScript  Purpose = "undo"  // undoes a change after which a new login failed
	PaceScript  Purpose = "pace"  // sends the pace of a governed staging
)

// Reply has the output of a script and its exit status.
type Reply = engine.Output

// TooMuchOutput is the error of a script that printed more than the limit. The
// script is not repeated, because a second run would print as much.
type TooMuchOutput struct{ Cause error }

// Error returns the text of the cause.
func (e TooMuchOutput) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e TooMuchOutput) Unwrap() error { return e.Cause }

// NoContent is the error of a script whose content cannot be served to its
// host. The script is not repeated.
type NoContent struct{ Cause error }

// Error returns the text of the cause.
func (e NoContent) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e NoContent) Unwrap() error { return e.Cause }

// Conn is a connection to one host.
type Conn interface {
	// Run runs a script. The error is about the connection. An exit status
	// other than 0 is in the reply, and is not an error here.
	Run(context.Context, Script) (Reply, error)
}

// Hosts connects to hosts. Connect returns the open connection of a host as
// long as that connection works, so a run uses one connection per host.
type Hosts interface {
	Connect(context.Context, engine.Host) (Conn, error)
	// Login runs a script on a new connection, which it closes again, while the
	// connection that Connect returns stays.
	Login(context.Context, engine.Host, Script) (Reply, error)
}

// Clusters asks etcd clusters. The name of a cluster is its name in the
// inventory.
type Clusters interface {
	Gather(ctx context.Context, cluster string) etcdfacts.ClusterFacts
	MoveLeader(ctx context.Context, cluster, host string) (to string, err error)
	// AwaitMember waits until the host's member is healthy. Meanwhile it calls
	// tell with the missing condition.
	AwaitMember(ctx context.Context, cluster, host string, tell func(missing string)) error
	Snapshot(ctx context.Context, cluster string) (where string, err error)
	// Defragment frees unused space of the host's member, and returns the
	// number of freed bytes.
	Defragment(ctx context.Context, cluster, host string) (freed int64, err error)
	Sample(ctx context.Context, cluster string) event.Sample
	// ScrapeMembers reads the disk latency of every member in the inventory,
	// all at the same time. When the context ends, the members that have not
	// answered have a problem, and their answers are returned by the next call.
	ScrapeMembers(ctx context.Context, cluster string) []governor.Scrape
}

// Nodes asks Kubernetes clusters, and drains their nodes. The name of a cluster is its name in the inventory.
type Nodes interface {
	// Gather reads the clusters, side by side.
	Gather(ctx context.Context, clusters []string) map[string]kubefacts.ClusterFacts
	// ReadWorkloads reads the pods of nodes, by cluster, and the PodDisruptionBudgets of these clusters.
	ReadWorkloads(ctx context.Context, nodes map[string][]string) map[string]kubefacts.Workload
	// ReadNode reads one node.
	ReadNode(ctx context.Context, cluster, node string) (kubefacts.Node, *kubefacts.Problem)
	// FindMissingRights returns the rights that drains of nodes need and the user lacks, by cluster.
	FindMissingRights(ctx context.Context, clusters []string) map[string][]kubefacts.Right
	// Cordon cordons a node for a run, unless it is cordoned, and returns it.
	Cordon(ctx context.Context, cluster, node, by string) (kubefacts.Node, *kubefacts.Problem)
	// Uncordon undoes the cordon of a run, and no other one.
	Uncordon(ctx context.Context, cluster, node string) (kubefacts.Node, *kubefacts.Problem)
	Evict(ctx context.Context, cluster string, r kubefacts.EvictionRequest) kubefacts.Eviction
	// TakeLease takes the lease of a node. If another tool has it, TakeLease returns its lease.
	TakeLease(ctx context.Context, cluster string, r kubefacts.LeaseRequest) (kubefacts.LeaseAnswer, kubefacts.Lease, *kubefacts.Problem)
	// ReleaseLease deletes the lease of a node if a run has it.
	ReleaseLease(ctx context.Context, cluster, node string) *kubefacts.Problem
}

// Power switches and reads the power of hosts.
type Power interface {
	Read(ctx context.Context, host engine.Host) (engine.PowerState, error)
	// Keep changes the settings that are not missing.
	Keep(ctx context.Context, host engine.Host, k engine.PowerKeeping) error
	// Switch calls before with each order that it is about to send. An error of before stops it. The error of a reset is a Failure with
	// NotStarted if the host was certainly not reset.
	Switch(ctx context.Context, host engine.Host, s engine.SwitchPower, before func(string) error) error
}

// HoldMemory remembers the maintenance hold with which this bastion last saw each host.
type HoldMemory interface {
	// Recall remembers the holds of the hosts that were reached, forgets the holds of those that are free, and adds the
	// LastHold to the facts of the others.
	Recall(facts map[string]engine.Facts)
}

// Local runs commands of the inventory on the bastion.
type Local interface {
	Run(ctx context.Context, command string, env []string) (Reply, error)
}

// Web asks web servers from the bastion, for gates.
type Web = gate.Web

// Sink takes the events of a run in order. An error stops the run, because the
// run does nothing that it cannot journal.
type Sink interface {
	Emit(event.Event) error
}

// Clock returns the time and lets it pass. Tests replace it.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Contents are the contents that the bastion serves. If the context ends before a method has its result, it
// returns the error of the context.
type Contents interface {
	// CheckComplete returns the reason why the bastion cannot serve a content, other than damage.
	CheckComplete(context.Context, engine.Content) error
	// VerifyContent returns an error if a part of a content is damaged. It reads the whole content.
	VerifyContent(context.Context, engine.Content) error
}
