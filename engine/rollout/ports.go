package rollout

import (
	"context"
	"io"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
	"holdfast/engine/rollout/gate"
)

// Ports are the ways of a run to everything outside of it.
type Ports struct {
	Hosts    Hosts
	Clusters Clusters
	Local    Local
	Web      Web
	Sink     Sink
	Clock    Clock

	SetRate func(host string, bytesPerSecond int64) // limits contents from the bastion to a host, 0: no more; nil: hosts get none

	Approve func(context.Context, engine.Plan) error // asks the operator; nil: approved
	Step    func(context.Context, engine.Plan) error // asks the operator before each batch that disrupts; nil: goes on
	Soft    context.Context                          // done at the first Ctrl-C; the context of a call ends at the second
	Hide    func(string) string                      // removes secrets from texts that are written to hosts; nil: there are none
}

// Script is a POSIX sh script for a host. It runs as root.
type Script struct {
	Text    string
	Timeout time.Duration   // 0: only the context bounds it
	Live    func([]byte)    // sees standard output as it comes; may be nil
	Uploads []engine.Upload // as a tar archive on its standard input
	Input   io.Reader       // its standard input, if there are no Uploads; may be nil

	Content  *engine.Content       // that the script fetches from the bastion: it gets the port as a variable; nil: none
	Transfer func(engine.Progress) // sees how the transfer of Content goes; may be nil

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
	PaceScript      Purpose = "pace"       // sends the pace of a governed staging
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

// NoContent is the error of a script whose content cannot be served to its host. The script is not run again.
type NoContent struct{ Cause error }

// Error returns the cause's text.
func (e NoContent) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e NoContent) Unwrap() error { return e.Cause }

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
	// ScrapeMembers reads the disk latency of every member of the inventory, all at the same time.
	ScrapeMembers(ctx context.Context, cluster string) []governor.Scrape
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
