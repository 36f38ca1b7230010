package engine

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
