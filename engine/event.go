package engine

import "time"

// EventSchema is the version of an event's JSON. It only grows.
const EventSchema = 1

// Event is one thing that happened in a run. Journal, terminal, plain lines,
// JSON output and report are all made from the one ordered stream of events,
// so that replaying a journal equals watching the run.
type Event struct {
	Schema      int         `json:"schema"`
	Seq         int         `json:"seq"`
	Time        time.Time   `json:"time"`
	Run         string      `json:"run"`
	Type        EventType   `json:"type"`
	Host        string      `json:"host,omitempty"`
	Pool        string      `json:"pool,omitempty"`
	Cluster     string      `json:"cluster,omitempty"`
	Batch       int         `json:"batch,omitempty"`    // from 1
	Hosts       []string    `json:"hosts,omitempty"`    // of a batch that starts
	Canaries    []string    `json:"canaries,omitempty"` // pools whose canaries the hosts of a batch are
	Step        string      `json:"step,omitempty"`
	Kind        StepKind    `json:"kind,omitempty"` // kind of the step, if readers of the journal need it
	Message     string      `json:"message,omitempty"`
	Took        Duration    `json:"took,omitempty"` // duration so far, if the step continues
	Until       time.Time   `json:"until,omitzero"` // in the started event of a step that only waits: when it will end
	Failure     *Failure    `json:"failure,omitempty"`
	HostOutcome HostOutcome `json:"fate,omitempty"` // of a host that failed
	Start       *RunStart   `json:"start,omitempty"`
	Plan        *Plan       `json:"plan,omitempty"`
	Progress    *Progress   `json:"progress,omitempty"`
	Etcd        *Sample     `json:"etcd,omitempty"`
	Governor    *Governor   `json:"governor,omitempty"` // of a staging near an etcd cluster
	End         *RunEnd     `json:"end,omitempty"`
}

// EventType is a kind of event.
type EventType string

// The kinds of event. A started one is on disk before the step is sent to a
// host.
const (
	RunStarted      EventType = "run-started"
	HostsGathered   EventType = "hosts-gathered" // Message has their number, Took the duration
	HostGathered    EventType = "host-gathered"  // Failure if it could not be reached
	Planned         EventType = "planned"        // Plan
	StageStarted    EventType = "stage-started"  // the staging phase of the run
	StageEnded      EventType = "stage-ended"
	BatchStarted    EventType = "batch-started"
	BatchEnded      EventType = "batch-ended"
	StepStarted     EventType = "step-started"
	StepProgress    EventType = "step-progress"    // Progress, Message; Took if the step only continues; Message then names the missing part
	StepEnded       EventType = "step-ended"       // Failure if it failed
	HostDone        EventType = "host-done"        // the host matches and is released
	HostFailed      EventType = "host-failed"      // Failure; the host stays held if it was disrupted
	EtcdSampled     EventType = "etcd-sampled"     // Etcd
	StagingGoverned EventType = "staging-governed" // the pace of a staging near etcd has changed, or the staging has ended: Governor
	Warned          EventType = "warning"
	Interrupted     EventType = "interrupted" // Message names the next step
	RunEnded        EventType = "run-ended"   // End
)

// HostOutcome is the outcome of a failed host.
type HostOutcome string

// The outcomes that views distinguish.
const (
	RolledBackOutcome HostOutcome = "rolled-back" // it runs its previous OS again, and is not held
)

// RunStart says who runs which command.
type RunStart struct {
	Site     string   `json:"site"`
	Holder   string   `json:"holder"`            // user@bastion
	Bastion  string   `json:"bastion,omitempty"` // identity of the bastion
	PID      int      `json:"pid"`
	Version  string   `json:"version"`
	Args     []string `json:"args,omitempty"`
	Adopting []string `json:"adopting,omitempty"` // runs that ended without releasing their holds
	Cluster  string   `json:"cluster,omitempty"`  // etcd cluster whose members the run changes; missing: it is a roll-out
}

// Progress is the progress of a transfer from the bastion to a host. Zero totals are unknown.
type Progress struct {
	Bytes int64    `json:"bytes,omitempty"` // sent since the step began
	Total int64    `json:"total,omitempty"` // expected; the host may have a part of it already
	Rate  int64    `json:"rate,omitempty"`  // bytes per second in the last seconds
	Left  Duration `json:"left,omitempty"`  // expected until the end of the transfer
	Ended bool     `json:"ended,omitempty"` // last report of the step
}

// Sample is an etcd cluster at one moment of a run.
type Sample struct {
	Voters   int            `json:"voters"`
	Healthy  int            `json:"healthy"`
	Quorum   int            `json:"quorum,omitempty"` // voters that must be healthy for etcd to accept writes
	Leader   string         `json:"leader,omitempty"` // host
	Down     []string       `json:"down,omitempty"`   // hosts of voters that are not healthy
	Problems []string       `json:"problems,omitempty"`
	Latency  []LatencyPoint `json:"latency,omitempty"`
}

// LatencyPoint is the disk latency of one member between two scrapes of its
// metrics: estimates from etcd's own histograms, in seconds.
type LatencyPoint struct {
	Host                string         `json:"host"`
	Window              Duration       `json:"window,omitempty"` // time between the two scrapes
	WALFsyncP99         float64        `json:"wal_fsync_p99,omitempty"`
	WALFsyncBucket      *LatencyBucket `json:"wal_fsync_bucket,omitempty"` // where the WAL fsync's p99 lies; missing: there was none
	BackendCommitP99    float64        `json:"backend_commit_p99,omitempty"`
	BackendCommitBucket *LatencyBucket `json:"backend_commit_bucket,omitempty"` // where the backend commit's p99 lies; missing: there was none
}

// LatencyBucket is the bucket of a histogram that a quantile lies in. The
// quantile is exact only to the bounds of its bucket.
type LatencyBucket struct {
	Low      float64 `json:"low"`            // lower bound, in seconds
	High     float64 `json:"high,omitempty"` // upper bound, in seconds; missing: the last bucket, which has none
	Observed uint64  `json:"observed"`       // observations in all buckets
}

// MemberLatency is the disk latency of one etcd member over a run.
type MemberLatency struct {
	Cluster string        `json:"cluster"`
	Host    string        `json:"host"`
	Idle    *LatencyPoint `json:"idle,omitempty"`    // before the run disturbed anything
	Staging *LatencyPoint `json:"staging,omitempty"` // the worst window while hosts were staged
	Worst   *LatencyPoint `json:"worst,omitempty"`   // the worst window of the run
	WorstAt time.Time     `json:"worst_at,omitzero"` // end of that window
}

// RunEnd is the outcome of a run.
type RunEnd struct {
	Exit      ExitCode `json:"exit"`
	Reason    string   `json:"reason"`           // sentence that report makes of the cause; empty before
	Cause     EndCause `json:"cause,omitzero"`   // why the run ended, as data
	Verdict   Verdict  `json:"verdict,omitzero"` // on everything that the run found, in parts
	Updated   []string `json:"updated,omitempty"`
	Failed    []string `json:"failed,omitempty"`
	Untouched []string `json:"left,omitempty"` // hosts with work that were not touched

	Latency []MemberLatency `json:"latency,omitempty"` // of the etcd members that were sampled

	NotBegun []string `json:"not_begun,omitempty"` // plays of the playbook that the run did not begin

	Complete bool         `json:"complete,omitempty"` // the run did all its work, every host of every pool matches, and every etcd cluster is healthy
	Pools    []PoolStatus `json:"pools,omitempty"`    // by the last facts
}

// EndKind is the kind of the cause for which a run ended.
type EndKind string

// The kinds of the end of a run.
const (
	MatchedEnd       EndKind = "matched"        // every selected host matches
	PlayedEnd        EndKind = "played"         // all plays of the playbook are done
	IncompleteEnd    EndKind = "incomplete"     // hosts are excluded or have drift, or an etcd cluster is unhealthy
	UnfinishedEnd    EndKind = "unfinished"     // an earlier roll-out is unfinished
	RefusedEnd       EndKind = "refused"        // it is not safe to go on
	FailedEnd        EndKind = "failed"         // a failure ended the run
	DeclinedEnd      EndKind = "declined"       // the operator did not approve the plan
	DeclinedBatchEnd EndKind = "declined-batch" // the operator did not approve the next batch
	StoppedEnd       EndKind = "stopped"        // the operator stopped the run at once
	UntouchedEnd     EndKind = "untouched"      // the first event could not be journaled; nothing was touched
)

// EndCause is the reason for which a run ended, as data. Package report makes a sentence of it; no code reads that sentence.
type EndCause struct {
	Kind    EndKind `json:"kind"`
	Play    string  `json:"play,omitempty"`    // play that decided the end
	Limited bool    `json:"limited,omitempty"` // whether the run was not for all hosts of the site

	Failure    *Failure     `json:"failure,omitempty"`      // failure that ended the run
	Spent      *SpentBudget `json:"spent_budget,omitempty"` // budget that the failure exceeded; nil if it ended the run for another reason
	AlsoFailed []Failure    `json:"also_failed,omitempty"`  // of hosts that neither the failure nor the exclusions name; each has the first line of its cause

	Refusals          []string           `json:"refusals,omitempty"`           // why it is not safe to go on
	Unfinished        []UnfinishedHost   `json:"unfinished,omitempty"`         // hosts that an earlier roll-out has not reached
	UnhealthyClusters []UnhealthyCluster `json:"unhealthy_clusters,omitempty"` // etcd clusters
	Excluded          []Exclusion        `json:"excluded,omitempty"`           // hosts that the last plan excludes
	Drift             []string           `json:"drift,omitempty"`              // hosts whose pools only report it

	Stopped bool   `json:"stopped,omitempty"` // whether the operator had asked the run to stop after its batch
	Journal string `json:"journal,omitempty"` // error of the journal, which lacks events of the run
}

// SpentBudget is a failure budget that allows fewer hosts to fail than have failed.
type SpentBudget struct {
	Failed int    `json:"failed"`         // number of hosts
	Pool   string `json:"pool,omitempty"` // whose budget it is
	Play   string `json:"play,omitempty"` // whose budget it is, for hosts of all pools
}

// EndCause returns the cause of the end of a run that can do nothing (more) of the plan.
func (p Plan) EndCause() EndCause {
	c := EndCause{Limited: len(p.Matching) < p.Total}
	switch {
	case len(p.Refusals) > 0:
		c.Kind, c.Refusals = RefusedEnd, p.Refusals
		return c
	case len(p.Unfinished) > 0:
		c.Kind, c.Unfinished = UnfinishedEnd, p.Unfinished
		return c
	}
	c.Kind, c.UnhealthyClusters, c.Excluded = MatchedEnd, p.UnhealthyClusters, p.Excluded
	c.Drift = p.driftingHosts()
	if len(c.UnhealthyClusters)+len(c.Excluded)+len(c.Drift) > 0 {
		c.Kind = IncompleteEnd
	}
	return c
}
