package engine

import "time"

// EventSchema is the version of an event's JSON. It only grows.
const EventSchema = 1

// Event is one thing that happened in a run. Journal, terminal, plain lines,
// JSON output and report are all made from the one ordered stream of events,
// so that replaying a journal equals watching the run.
type Event struct {
	Schema   int       `json:"schema"`
	Seq      int       `json:"seq"`
	Time     time.Time `json:"time"`
	Run      string    `json:"run"`
	Type     EventType `json:"type"`
	Host     string    `json:"host,omitempty"`
	Pool     string    `json:"pool,omitempty"`
	Cluster  string    `json:"cluster,omitempty"`
	Batch    int       `json:"batch,omitempty"`    // from 1
	Canaries []string  `json:"canaries,omitempty"` // pools whose canaries the hosts of a batch are
	Step     string    `json:"step,omitempty"`
	Kind     StepKind  `json:"kind,omitempty"` // what the step does, where that matters to who follows
	Message  string    `json:"message,omitempty"`
	Took     Duration  `json:"took,omitempty"` // also by now, of a step that goes on
	Until    time.Time `json:"until,omitzero"` // when a step that only waits is to end, of its start
	Failure  *Failure  `json:"failure,omitempty"`
	Start    *RunStart `json:"start,omitempty"`
	Plan     *Plan     `json:"plan,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
	Etcd     *Sample   `json:"etcd,omitempty"`
	End      *RunEnd   `json:"end,omitempty"`
}

// EventType is a kind of event.
type EventType string

// The kinds of event. A started one is on disk before the step is sent to a
// host.
const (
	RunStarted    EventType = "run-started"
	HostsGathered EventType = "hosts-gathered" // Message counts them, Took is how long
	HostGathered  EventType = "host-gathered"  // Failure if it could not be reached
	Planned       EventType = "planned"        // Plan
	StageStarted  EventType = "stage-started"  // the staging phase of the run
	StageEnded    EventType = "stage-ended"
	BatchStarted  EventType = "batch-started"
	BatchEnded    EventType = "batch-ended"
	StepStarted   EventType = "step-started"
	StepProgress  EventType = "step-progress" // Progress, Message; Took where the step only goes on, and Message is then what is missing
	StepEnded     EventType = "step-ended"    // Failure if it failed
	HostDone      EventType = "host-done"     // the host matches and is released
	HostFailed    EventType = "host-failed"   // Failure; the host stays held if it was disrupted
	EtcdSampled   EventType = "etcd-sampled"  // Etcd
	Warned        EventType = "warning"
	Interrupted   EventType = "interrupted" // Message says what happens next
	RunEnded      EventType = "run-ended"   // End
)

// RunStart says who runs what.
type RunStart struct {
	Site     string   `json:"site"`
	Holder   string   `json:"holder"`            // user@bastion
	Bastion  string   `json:"bastion,omitempty"` // identity of the bastion
	PID      int      `json:"pid"`
	Version  string   `json:"version"`
	Args     []string `json:"args,omitempty"`
	Adopting []string `json:"adopting,omitempty"` // runs that ended without releasing what they held
}

// Progress is how far a step is. Zero totals are unknown.
type Progress struct {
	Bytes int64 `json:"bytes,omitempty"`
	Total int64 `json:"total,omitempty"`
}

// Sample is an etcd cluster at one moment of a run.
type Sample struct {
	Voters   int            `json:"voters"`
	Healthy  int            `json:"healthy"`
	Quorum   int            `json:"quorum,omitempty"` // voters that must be healthy for etcd to accept writes
	Leader   string         `json:"leader,omitempty"` // host
	Problems []string       `json:"problems,omitempty"`
	Latency  []LatencyPoint `json:"latency,omitempty"`
}

// LatencyPoint is the disk latency of one member since the sample before:
// estimates from etcd's own histograms, in seconds.
type LatencyPoint struct {
	Host             string  `json:"host"`
	WALFsyncP99      float64 `json:"wal_fsync_p99,omitempty"`
	BackendCommitP99 float64 `json:"backend_commit_p99,omitempty"`
}

// Failure is what went wrong on a host, whole enough to act on.
type Failure struct {
	Host    string `json:"host,omitempty"`
	Step    string `json:"step"`
	Command string `json:"command,omitempty"`
	Stderr  string `json:"stderr,omitempty"`
	Cause   string `json:"cause"`
	Kind    string `json:"kind,omitempty"` // "unreachable", "held", …: what exit codes and callers tell apart
	Hint    string `json:"hint,omitempty"` // what to do
}

// Error gives the failure in one line.
func (f *Failure) Error() string {
	s := f.Cause
	if f.Step != "" {
		s = f.Step + ": " + s
	}
	if f.Host != "" {
		s = f.Host + ": " + s
	}
	return s
}

// RunEnd is the outcome of a run.
type RunEnd struct {
	Exit    ExitCode `json:"exit"`
	Reason  string   `json:"reason"` // a sentence
	Updated []string `json:"updated,omitempty"`
	Failed  []string `json:"failed,omitempty"`
	Left    []string `json:"left,omitempty"` // hosts with work that were not touched

	NotBegun []string `json:"not_begun,omitempty"` // plays of the playbook that the run did not come to

	Complete bool         `json:"complete,omitempty"` // every host of every pool matches
	Pools    []PoolStatus `json:"pools,omitempty"`    // as they were last seen
}

// ExitCode is how holdfast ends, for people and for cron.
type ExitCode int

// The exit codes. They are part of the interface and never change meaning.
const (
	ExitOK          ExitCode = 0 // every host looked at matches
	ExitUsage       ExitCode = 1 // usage or configuration error; nothing was touched
	ExitWork        ExitCode = 2 // there is work to do; of apply: hosts have drifted, and their pools only report it
	ExitFailed      ExitCode = 3 // a roll-out stopped, a host failed, or it was not safe to go on
	ExitRefused     ExitCode = 4 // a hold, another run, a pause or an unfinished roll-out
	ExitUnreachable ExitCode = 5 // hosts could not be reached
	ExitStopped     ExitCode = 6 // stopped by the person
)

// Worse gives the code of two that something with several parts ends with.
func (c ExitCode) Worse(d ExitCode) ExitCode {
	for _, worst := range []ExitCode{ExitStopped, ExitUsage, ExitFailed, ExitRefused, ExitUnreachable, ExitWork} {
		if c == worst || d == worst {
			return worst
		}
	}
	return ExitOK
}

// Exit is how a run ends that could do nothing (more) of the plan.
func (p Plan) Exit() ExitCode {
	switch {
	case len(p.Refusals) > 0 || p.Has(Unclear) || p.Has(Failed) || p.Has(RolledBack):
		return ExitFailed
	case len(p.Unfinished) > 0:
		return ExitRefused
	case p.HasWork():
		return ExitWork
	case p.Has(Held), p.Has(Paused), p.Has(Closed):
		return ExitRefused
	case p.Has(Unreachable):
		return ExitUnreachable
	case p.Has(Blocked):
		return ExitFailed
	case len(p.Drift) > 0:
		return ExitWork
	}
	return ExitOK
}
