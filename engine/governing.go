package engine

import "time"

// LatencyMetric is a disk latency of etcd.
type LatencyMetric string

// The disk latencies.
const (
	WALFsync      LatencyMetric = "wal_fsync"      // etcd_disk_wal_fsync_duration_seconds
	BackendCommit LatencyMetric = "backend_commit" // etcd_disk_backend_commit_duration_seconds
)

// GovernorState is how fast the governor lets a host stage.
type GovernorState string

// The states of a governed staging.
const (
	GovernorFree   GovernorState = "free"   // no limit was exceeded since it began, or it has full speed again
	GovernorSlowed GovernorState = "slowed" // a limit was exceeded
	GovernorPaused GovernorState = "paused" // even the floor is too much
	GovernorEnded  GovernorState = "ended"  // the staging is over, and the report complete
)

// StopReason is why the governor stops a staging. "" lets it go on.
type StopReason string

// The reasons.
const (
	StopLatency  StopReason = "latency"  // a limit is exceeded at the floor for too long
	StopMissing  StopReason = "missing"  // a member has not answered for too long
	StopDeadline StopReason = "deadline" // the staging has taken too long
)

// Governing is within which limits hosts are staged near an etcd cluster.
type Governing struct {
	Latency
	FloorShare float64  `json:"floor_share"`        // least share of the time in which a host makes progress
	FloorRate  int64    `json:"floor_rate"`         // least rate of content from the bastion, in bytes per second
	Deadline   Duration `json:"deadline,omitempty"` // the staging of a host stops after that time
}

// IdleFactor is the least limit of a member, as a multiple of its idle latency: staging cannot make a disk faster
// than it is.
const IdleFactor = 1.25

// Governor is the state of a governed staging of one host.
type Governor struct {
	State   GovernorState    `json:"state"`             // how fast the host may stage
	Member  string           `json:"member,omitempty"`  // host of the member that decided
	Metric  LatencyMetric    `json:"metric,omitempty"`  // that decided; missing: the member did not answer
	P99     Duration         `json:"p99,omitempty"`     // of that metric, without a few slowest observations of the window
	Limit   Duration         `json:"limit,omitempty"`   // of that metric, for that member
	Window  Duration         `json:"window,omitempty"`  // of that p99, or since when the member has not answered
	Pace    *Pace            `json:"pace,omitempty"`    // of the host from now on
	Levers  []Lever          `json:"levers,omitempty"`  // as the host reported them, when they were first known
	Stopped StopReason       `json:"stopped,omitempty"` // why the staging stops; missing: it goes on
	Slowed  Duration         `json:"slowed,omitempty"`  // time in this state, of an ended one
	Paused  Duration         `json:"paused,omitempty"`  // time in this state, of an ended one
	Members []MemberGoverned `json:"members,omitempty"` // disk latency of every member, of an ended one
}

// Pace is how fast a host stages: its staging unit runs for Slice, then it is
// frozen, its data are flushed, and it stays frozen for Pause after that.
type Pace struct {
	Slice Duration `json:"slice,omitempty"` // 0: the unit stays frozen
	Pause Duration `json:"pause,omitempty"` // the unit stays frozen so long after its data were flushed
}

// FloorPace returns the slowest pace. In a slice of it, ostree writes some
// 0.7 MB (it was measured to write 145 MB/s while it is thawed). A disk of
// 50 MB/s writes that in 15 ms, so less than one fsync in a hundred waits for
// it.
func FloorPace() Pace {
	return Pace{Slice: Duration(5 * time.Millisecond), Pause: Duration(time.Second)}
}

// Lever is a way to slow the staging of a host.
type Lever struct {
	Name    LeverName `json:"name"`
	InForce bool      `json:"in_force"`         // whether the host can use it
	Reason  string    `json:"reason,omitempty"` // why not
}

// LeverName names a lever.
type LeverName string

// The levers.
const (
	FreezeLever LeverName = "freeze" // cgroup.freeze of the staging unit, with a flush of its data
)

// MemberGoverned is the disk latency of one member around a staging.
type MemberGoverned struct {
	Host    string       `json:"host"`
	Idle    LatencyPoint `json:"idle"`              // before the first staging of the run
	Staging LatencyPoint `json:"staging"`           // from the begin of the staging to its end
	Worst   LatencyPoint `json:"worst"`             // the worst window while staging, by WAL fsync
	WorstAt time.Time    `json:"worst_at,omitzero"` // begin of the worst window
}
