// Package event has the events of a run, from which all its output is made: the
// journal, lines, the live view, JSON and the summary.
package event

import (
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
)

// Schema is the version of an event's JSON. It only increases.
const Schema = 1

// Event is one thing that happened in a run. Journal, terminal, plain lines,
// JSON output and report are all made from one ordered stream of events, so a
// replayed journal shows the same as the run.
type Event struct {
	Schema      int                     `json:"schema"`
	Seq         int                     `json:"seq"`
	Time        time.Time               `json:"time"`
	Run         string                  `json:"run"`
	Type        Type                    `json:"type"`
	Host        string                  `json:"host,omitempty"`
	Pool        string                  `json:"pool,omitempty"`
	Cluster     string                  `json:"cluster,omitempty"`
	Member      string                  `json:"member,omitempty"`   // ID of the etcd member that the step changes, if etcd lists it
	Batch       int                     `json:"batch,omitempty"`    // number of the batch, from 1
	Hosts       []string                `json:"hosts,omitempty"`    // hosts of a batch that starts; in `planned`: hosts with work, with those that the plan leaves out, and without those that it only stages
	Regained    []string                `json:"regained,omitempty"` // in `planned` and `host-done`: hosts that match or are updated, and that an earlier run had changed and not seen again
	Canaries    []string                `json:"canaries,omitempty"` // pools whose canaries are in the batch
	Step        string                  `json:"step,omitempty"`
	Kind        engine.StepKind         `json:"kind,omitempty"`   // kind of the step, if readers of the journal need it
	Reboot      *engine.Reboot          `json:"reboot,omitempty"` // in the events of the step that orders the reboot of the plan; in a warning: the reboot that the host got instead
	Aim         string                  `json:"aim,omitempty"`    // in the events of a step that changes a host under a hold: the digest of the OS or the configuration that the changes bring
	NewOS       bool                    `json:"new_os,omitempty"` // in the events of a step: from its start on, the host may get another OS
	Reset       bool                    `json:"reset,omitempty"`  // in a warning: the host has not come back from its reboot, and is reset through its BMC; with a failure: this reset was not sent
	Message     string                  `json:"message,omitempty"`
	Took        engine.Duration         `json:"took,omitempty"`  // duration so far, while the step continues
	Limit       engine.Duration         `json:"limit,omitempty"` // in `step-progress`: longest time that the step may take
	Until       time.Time               `json:"until,omitzero"`  // end of a step that only waits, in its started event
	Failure     *engine.Failure         `json:"failure,omitempty"`
	Outcome     HostOutcome             `json:"outcome,omitempty"` // outcome of a host that failed
	Start       *RunStart               `json:"start,omitempty"`
	Plan        *engine.Plan            `json:"plan,omitempty"`
	Maintenance *engine.MaintenancePlan `json:"maintenance,omitempty"` // work of a person on holds
	Progress    *Progress               `json:"progress,omitempty"`
	Etcd        *Sample                 `json:"etcd,omitempty"`
	Governor    *engine.Governor        `json:"governor,omitempty"` // state of a staging near an etcd cluster
	End         *RunEnd                 `json:"end,omitempty"`
}

// Subject returns the host, the cluster or the pool of an event, or else the
// bastion.
func (e Event) Subject() string {
	switch {
	case e.Host != "":
		return e.Host
	case e.Cluster != "":
		return e.Cluster
	case e.Pool != "":
		return "pool " + e.Pool
	}
	return engine.Bastion
}

// Type is a kind of event.
type Type string

// The kinds of event. A "started" event is on disk before the step is sent to a
// host.
const (
	RunStarted         Type = "run-started"
	HostsGathered      Type = "hosts-gathered"      // Message has the number of hosts, Took the duration
	HostGathered       Type = "host-gathered"       // Failure is set if the host could not be reached
	Planned            Type = "planned"             // Plan has the plan
	MaintenancePlanned Type = "maintenance-planned" // Maintenance has the plan
	StageStarted       Type = "stage-started"       // the staging phase of the run
	StageEnded         Type = "stage-ended"
	BatchStarted       Type = "batch-started"
	BatchEnded         Type = "batch-ended"
	StepStarted        Type = "step-started"
	StepProgress       Type = "step-progress"    // Progress, or Message and Took: the step continues, and Message names the missing part
	StepEnded          Type = "step-ended"       // Failure is set if the step failed
	HostDone           Type = "host-done"        // the host matches and is released
	HostFailed         Type = "host-failed"      // Failure has the cause; the host stays held if it was disrupted
	EtcdSampled        Type = "etcd-sampled"     // Etcd has the sample
	StagingGoverned    Type = "staging-governed" // Governor has the new state or levers of a staging near etcd, why it must stop, or its end
	Warned             Type = "warning"
	Interrupted        Type = "interrupted" // Message has the next step
	RunEnded           Type = "run-ended"   // End has the outcome
)

// HostOutcome is the outcome of a failed host.
type HostOutcome string

// The outcomes that views and later runs distinguish.
const (
	RolledBackOutcome        HostOutcome = "rolled-back"         // the host runs its previous OS again, and is not held
	HoldLostOutcome          HostOutcome = "hold-lost"           // the run does not hold the host any more: its hold is gone, or somebody else's
	RolledBackEarlierOutcome HostOutcome = "rolled-back-earlier" // an earlier run rolled the host back and left its hold, which this run has ended
	GivenBackOutcome         HostOutcome = "given-back"          // the run has undone its work on the host, which is not held
)

// RunStart has the person, the bastion and the command of a run.
type RunStart struct {
	Site     string   `json:"site"`
	Holder   string   `json:"holder"`            // user@bastion
	Bastion  string   `json:"bastion,omitempty"` // identity of the bastion
	PID      int      `json:"pid"`
	Version  string   `json:"version"`
	Command  Command  `json:"command,omitzero"`
	Adopting []string `json:"adopting,omitempty"` // dead runs whose holds this run adopts
	Cluster  string   `json:"cluster,omitempty"`  // etcd cluster whose members the run changes; missing: the run is a roll-out, or of a person

	Maintenance engine.MaintenanceAction `json:"maintenance,omitempty"` // work of a person on holds; missing: the run is no such work

	HasPlays bool `json:"has_plays,omitempty"` // the run carries out a playbook: an updated host need not match its desired state

	MarksNewOS bool `json:"marks_new_os,omitempty"` // the steps from whose start on a host may get another OS have new_os; missing: an older version wrote the journal
}

// Command is a command of holdfast as a person gave it.
type Command struct {
	Name  string   `json:"name"`           // such as "apply" or "etcd members apply"
	Args  []string `json:"args,omitempty"` // arguments that are no flags
	Flags []Flag   `json:"flags,omitempty"`
}

// Flag is a flag of a command. A flag that was given twice is there twice.
type Flag struct {
	Name   string `json:"name"`            // without hyphens
	Short  string `json:"short,omitempty"` // its letter, if it has one
	Value  string `json:"value,omitempty"`
	Switch bool   `json:"switch,omitempty"` // it is set without a value
	Global bool   `json:"global,omitempty"` // every command has it
}

// Progress is the progress of a transfer from the bastion to a host. A total of
// zero means that the total is unknown.
type Progress struct {
	Bytes          int64           `json:"bytes,omitempty"`            // bytes sent since the step began
	AgainBytes     int64           `json:"again_bytes,omitempty"`      // of these, bytes that were sent before and lost with a connection
	TotalBytes     int64           `json:"total_bytes,omitempty"`      // expected bytes; the host may already have some of them
	BytesPerSecond int64           `json:"bytes_per_second,omitempty"` // bytes per second over about the last half minute; with Ended, over the connection
	Remaining      engine.Duration `json:"remaining,omitempty"`        // expected time until the end of the transfer
	Ended          bool            `json:"ended,omitempty"`            // this is the last report of one connection; after a lost one, others follow in the same step
}

// Sample is an etcd cluster at one moment of a run.
type Sample struct {
	Voters         int                   `json:"voters"`
	Healthy        int                   `json:"healthy"`
	Quorum         int                   `json:"quorum,omitempty"`          // voters that must be healthy for etcd to accept writes
	Leader         string                `json:"leader,omitempty"`          // host that the leader runs on
	UnhealthyHosts []string              `json:"unhealthy_hosts,omitempty"` // hosts of voters that are not healthy
	Problems       []string              `json:"problems,omitempty"`
	Latency        []engine.LatencyPoint `json:"latency,omitempty"`
}

// NewSample returns a sample of a cluster without latencies.
func NewSample(facts etcdfacts.ClusterFacts) Sample {
	s := Sample{Voters: len(facts.Voters()), Healthy: facts.CountHealthy(), UnhealthyHosts: facts.UnhealthyHosts(), Leader: facts.Leader()}
	if s.Voters > 0 {
		s.Quorum = etcdfacts.QuorumOf(s.Voters)
	}
	if facts.Problem != "" {
		s.Problems = append(s.Problems, facts.Problem)
	}
	for _, m := range facts.Members {
		if !m.Healthy {
			s.Problems = append(s.Problems, m.Name+": "+m.Problem)
		}
	}
	return s
}

// MemberLatency is the disk latency of one etcd member over a run.
type MemberLatency struct {
	Cluster string               `json:"cluster"`
	Host    string               `json:"host"`
	Idle    *engine.LatencyPoint `json:"idle,omitempty"`    // before the run staged or disrupted anything
	Staging *engine.LatencyPoint `json:"staging,omitempty"` // the worst window while hosts were staged
	Worst   *engine.LatencyPoint `json:"worst,omitempty"`   // the worst window of the run
	WorstAt time.Time            `json:"worst_at,omitzero"` // end of the worst window
}

// HostTotals has the figures of one host over a run.
type HostTotals struct {
	Host              string          `json:"host"`
	Cluster           string          `json:"cluster,omitempty"`             // etcd cluster of its member
	FetchedBytes      int64           `json:"fetched_bytes,omitempty"`       // bytes that the bastion sent to the host
	FetchedAgainBytes int64           `json:"fetched_again_bytes,omitempty"` // of these, bytes that it had sent before, and that were lost with a connection
	BytesPerSecond    int64           `json:"bytes_per_second,omitempty"`    // bytes per second, over the steps that fetched something
	SlowedFor         engine.Duration `json:"slowed_for,omitempty"`          // time that its staging was slowed
	PausedFor         engine.Duration `json:"paused_for,omitempty"`          // time that its staging was paused
	FixedFor          engine.Duration `json:"fixed_for,omitempty"`           // time that its staging had a fixed pace
	DownFor           engine.Duration `json:"down_for,omitempty"`            // time from the order to reboot until the host answered; from the start of the wait, if an earlier run ordered the reboot
	NotBack           bool            `json:"not_back,omitempty"`            // it has not answered since the last order to reboot
	MemberDownFor     engine.Duration `json:"member_down_for,omitempty"`     // time that the cluster lacked its member: from the order to reboot until the member was back, and during defragmentations; of a member that runs on during a reboot, only from its restart
	FailedProbes      int             `json:"failed_probes,omitempty"`       // samples in which its member was not healthy, without those that could not see it because it ran on during a reboot
}

// ClusterTotals has the figures of one etcd cluster over a run.
type ClusterTotals struct {
	Cluster    string `json:"cluster"`
	Samples    int    `json:"samples"`              // samples that the cluster answered
	Unanswered int    `json:"unanswered,omitempty"` // samples that no member answered
}

// RunEnd has the outcome of a run.
type RunEnd struct {
	Exit      engine.ExitCode `json:"exit"`
	Verdict   engine.Verdict  `json:"verdict,omitzero"`  // verdict on everything that the run found
	Updated   []string        `json:"updated,omitempty"` // hosts that the run made match; with a playbook, that got all tasks of the plays that began
	Failed    []string        `json:"failed,omitempty"`
	Untouched []string        `json:"untouched,omitempty"` // hosts with work that the run did not do

	HoldsTaken int `json:"holds_taken,omitempty"` // number of hosts whose hold the run took, in the end of a roll-out; without any it disrupted no host

	SpentBudget *SpentBudget `json:"spent_budget,omitempty"` // budget that the failures of the run exceeded; nil: no budget ended the run

	Latency []MemberLatency `json:"latency,omitempty"` // disk latency of the etcd members that were sampled

	Hosts    []HostTotals    `json:"hosts,omitempty"`    // figures of the hosts that have any
	Clusters []ClusterTotals `json:"clusters,omitempty"` // figures of the etcd clusters that were sampled

	Times    []engine.HostTimes `json:"times,omitempty"`     // durations of the work on hosts, for forecasts
	BatchGap engine.Duration    `json:"batch_gap,omitempty"` // mean time from the staging or a batch to the next batch, without soaks

	Maintenance engine.MaintenanceAction `json:"maintenance,omitempty"` // of work on holds; Updated are then the hosts whose hold was changed

	NotBegun []string `json:"not_begun,omitempty"` // plays of the playbook that the run did not start

	Complete bool                `json:"complete,omitempty"` // the run did all its work, every host of every pool matches, and every etcd cluster is healthy
	Pools    []engine.PoolStatus `json:"pools,omitempty"`    // state of each pool, by the last facts
}

// SpentBudget is a failure budget that was exceeded.
type SpentBudget struct {
	Failed int    `json:"failed"`         // number of hosts that failed
	Pool   string `json:"pool,omitempty"` // pool that has the budget
	Play   string `json:"play,omitempty"` // play that has the budget, for hosts of all pools

	AnyErrorsFatal bool `json:"any_errors_fatal,omitempty"` // the play allows no failed host, not even with --best-effort
}
