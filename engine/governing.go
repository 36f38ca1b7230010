package engine

import "time"

// LatencyMetric is a disk latency of etcd.
type LatencyMetric string

// The disk latencies.
const (
	WALFsync      LatencyMetric = "wal-fsync"      // etcd_disk_wal_fsync_duration_seconds
	BackendCommit LatencyMetric = "backend-commit" // etcd_disk_backend_commit_duration_seconds
)

// Words returns the name of a latency for sentences.
func (m LatencyMetric) Words() string {
	if m == BackendCommit {
		return "backend commit"
	}
	return "WAL fsync"
}

// GovernorState is how fast the governor lets a host stage.
type GovernorState string

// The states of a governed staging.
const (
	GovernorFree   GovernorState = "free"   // no limit was exceeded since the staging began, the staging has full speed again, or no lever is in force
	GovernorSlowed GovernorState = "slowed" // a limit was exceeded, or a member does not report its latency or completes no writes; a lever slows the staging
	GovernorPaused GovernorState = "paused" // the slowest pace is too fast for a member, and the staging is frozen
	GovernorFixed  GovernorState = "fixed"  // the disk latency is not known, and a lever holds the staging at a slow, fixed pace
	GovernorEnded  GovernorState = "ended"  // the staging is over, and the state has all figures
)

// StopReason is the reason why the governor stops a staging. "" means that the
// staging goes on.
type StopReason string

// The reasons why the governor stops a staging.
const (
	StopLatency  StopReason = "latency"  // a limit was exceeded at the slowest pace for too long
	StopStalled  StopReason = "stalled"  // a member completed no WAL fsync or no backend commit for too long, while other disks of the cluster wrote
	StopMissing  StopReason = "missing"  // a member did not answer for too long
	StopDeadline StopReason = "deadline" // the staging took too long
)

// Governing has the limits within which hosts are staged near an etcd cluster.
type Governing struct {
	Latency
	FloorShare          float64  `json:"floor_share"`            // least share of the time in which the host makes progress
	FloorBytesPerSecond int64    `json:"floor_bytes_per_second"` // least rate of content from the bastion and of the disk, in bytes per second
	Deadline            Duration `json:"deadline,omitempty"`     // time after which the staging of a host stops
}

// IdleFactor bounds the limit of a member from below, as a multiple of its idle
// latency: during a staging, a disk cannot be faster than when it is idle.
const IdleFactor = 1.25

// Governor is the state of a governed staging of one host.
type Governor struct {
	State      GovernorState    `json:"state"`                 // how fast the host may stage
	MemberHost string           `json:"member_host,omitempty"` // host of the member that decided
	Metric     LatencyMetric    `json:"metric,omitempty"`      // metric that decided; missing: the member did not answer
	P99        Duration         `json:"p99,omitempty"`         // p99 of that metric, leaving out a few of the slowest observations of the window
	Limit      Duration         `json:"limit,omitempty"`       // limit of that metric for that member
	Window     Duration         `json:"window,omitempty"`      // time that the p99 covers, or time for which the member has not answered; missing: the member has never answered
	Stalled    Duration         `json:"stalled,omitempty"`     // time for which the member has completed no write of that metric, although it did before; then there is no p99
	Pace       *Pace            `json:"pace,omitempty"`        // pace of the host now; it may change later within the same state, without another event
	Levers     []Lever          `json:"levers,omitempty"`      // levers of the staging, when they are first known and when one changes
	StopReason StopReason       `json:"stop_reason,omitempty"` // why the staging stops; missing: the staging goes on
	SlowedFor  Duration         `json:"slowed_for,omitempty"`  // time that an ended staging was slowed
	PausedFor  Duration         `json:"paused_for,omitempty"`  // time that an ended staging was paused
	FixedFor   Duration         `json:"fixed_for,omitempty"`   // time that an ended staging had a fixed pace
	Members    []MemberGoverned `json:"members,omitempty"`     // disk latency of every member during an ended staging
}

// Pace is how fast a host stages. The staging unit runs for Slice. Then the
// unit is frozen, its data are flushed, and it stays frozen for Pause.
type Pace struct {
	Slice Duration `json:"slice,omitempty"` // 0: the unit stays frozen
	Pause Duration `json:"pause,omitempty"` // how long the unit stays frozen after its data were flushed
}

// FloorPace returns the slowest pace. A slice of 1 ms is as long as the start of
// a program: 1 to 3 ms. In a measurement, ostree wrote 0.3 MB in each. A disk of
// 50 MB/s writes 0.3 MB in 6 ms, so an fsync that waits for these data takes less
// than 10 ms. Small objects need more operations: up to some tens in a slice.
func FloorPace() Pace {
	return Pace{Slice: Duration(time.Millisecond), Pause: Duration(200 * time.Millisecond)}
}

// FloorRate is the lowest rate of a staging, in bytes per second: of contents
// that the bastion serves, and of the disk, where a lever limits it.
const FloorRate = 1 << 20

// Lever is a way to slow the staging of a host.
type Lever struct {
	Name    LeverName `json:"name"`
	InForce bool      `json:"in_force"`         // whether the lever slows the staging
	Reason  string    `json:"reason,omitempty"` // why the lever does not slow the staging
}

// LeverName names a lever.
type LeverName string

// The levers.
const (
	FreezeLever LeverName = "freeze" // cgroup.freeze of the staging unit, with a flush of its data
	RateLever   LeverName = "rate"   // rate of contents that the bastion serves
	IOLever     LeverName = "io"     // rate at which the unit that does the work reads and writes, limited by the io controller of cgroup v2; used where freeze is not in force
)

// MemberGoverned is the disk latency of one member around a staging.
type MemberGoverned struct {
	Host    string       `json:"host"`
	Idle    LatencyPoint `json:"idle"`              // before the first staging of the run
	Staging LatencyPoint `json:"staging"`           // from the begin to the end of the staging
	Worst   LatencyPoint `json:"worst"`             // the worst window of the staging
	WorstAt time.Time    `json:"worst_at,omitzero"` // begin of the worst window
}

// LatencyPoint is the disk latency of one member between two scrapes of its
// metrics: estimates from etcd's own histograms, in seconds.
type LatencyPoint struct {
	Host                    string         `json:"host"`
	Window                  Duration       `json:"window,omitempty"` // time between the two scrapes
	WALFsyncP99Seconds      float64        `json:"wal_fsync_p99_seconds,omitempty"`
	WALFsyncBucket          *LatencyBucket `json:"wal_fsync_bucket,omitempty"` // bucket of the p99 of the WAL fsyncs; missing: no WAL fsync in the window
	BackendCommitP99Seconds float64        `json:"backend_commit_p99_seconds,omitempty"`
	BackendCommitBucket     *LatencyBucket `json:"backend_commit_bucket,omitempty"` // bucket of the p99 of the backend commits; missing: no backend commit in the window
}

// LatencyBucket is the histogram bucket that contains a quantile. The quantile
// is only known to lie between the bounds of this bucket.
type LatencyBucket struct {
	LowSeconds  float64 `json:"low_seconds"`            // lower bound, in seconds
	HighSeconds float64 `json:"high_seconds,omitempty"` // upper bound, in seconds; missing: the last bucket has no upper bound
	Observed    uint64  `json:"observed"`               // observations in all buckets
}

// The highest disk latencies that the documentation of etcd advises, in
// seconds.
const (
	advisedWALFsync      = 0.010
	advisedBackendCommit = 0.025
)

// Severity returns the latency of a window as a multiple of the advised
// latency. So windows and metrics can be compared.
func (p LatencyPoint) Severity() float64 {
	return max(p.WALFsyncP99Seconds/advisedWALFsync, p.BackendCommitP99Seconds/advisedBackendCommit)
}
