package engine

import (
	"slices"
)

// Findings has every problem that a command found, and all work that is left.
type Findings struct {
	Stopped           bool               `json:"stopped,omitempty"`       // by the person, before all was done
	Failures          []Failure          `json:"failures,omitempty"`      // of the run and of its hosts
	Refusals          []string           `json:"refusals,omitempty"`      // why it would not be safe to begin
	UnhealthyClusters []UnhealthyCluster `json:"sick_clusters,omitempty"` // etcd clusters
	Unfinished        []UnfinishedHost   `json:"unfinished,omitempty"`    // hosts that an earlier roll-out has not reached
	Work              []string           `json:"work,omitempty"`          // hosts on which something is to be done
	Excluded          []Exclusion        `json:"excluded,omitempty"`      // hosts that were excluded
	Drift             []string           `json:"drift,omitempty"`         // hosts whose pools only report it
}

// Verdict is the result of a command: the exit code and all findings. plan, status and
// apply end with its exit code; none of them decides for itself.
type Verdict struct {
	Exit     ExitCode `json:"exit"`     // exit code of the command
	Complete bool     `json:"complete"` // nothing is wrong and nothing is left to do
	Findings
}

// NewVerdict returns the verdict on findings. The first of these decides: the person
// stopped it; something failed, is unhealthy or not safe; an earlier roll-out is
// unfinished; there is work that can be done now; a person keeps hosts from it; hosts
// are unreachable; hosts are blocked; there is drift that is only reported.
// docs/exit-codes.md has the same list.
func NewVerdict(f Findings) Verdict {
	exit := f.exitCode()
	return Verdict{Exit: exit, Complete: exit == ExitOK, Findings: f}
}

func (f Findings) hasExcluded(whys ...ExclusionKind) bool {
	return slices.ContainsFunc(f.Excluded, func(x Exclusion) bool { return slices.Contains(whys, x.Kind) })
}

// And returns the verdict on two plays, each with an exit code of its own: the worse one.
func (v Verdict) And(w Verdict) Verdict {
	return Verdict{Exit: v.Exit.Worse(w.Exit), Complete: v.Complete && w.Complete, Findings: v.Join(w.Findings)}
}

// Join returns everything of both findings once, for one verdict on them.
func (f Findings) Join(g Findings) Findings {
	return Findings{
		Stopped:           f.Stopped || g.Stopped,
		Failures:          appendNew(f.Failures, g.Failures),
		Refusals:          appendNew(f.Refusals, g.Refusals),
		Unfinished:        appendNew(f.Unfinished, g.Unfinished),
		Work:              appendNew(f.Work, g.Work),
		Excluded:          appendNew(f.Excluded, g.Excluded),
		Drift:             appendNew(f.Drift, g.Drift),
		UnhealthyClusters: appendNewBy(f.UnhealthyClusters, g.UnhealthyClusters, func(u UnhealthyCluster) string { return u.Cluster }),
	}
}

// Serious returns the findings of hosts and clusters for which a command ends with ExitFailed, whatever a run has met.
func (f Findings) Serious() Findings {
	serious := func(x Exclusion) bool { return slices.Contains(seriousExclusions(), x.Kind) }
	excluded := slices.DeleteFunc(slices.Clone(f.Excluded), func(x Exclusion) bool { return !serious(x) })
	return Findings{Refusals: f.Refusals, UnhealthyClusters: f.UnhealthyClusters, Excluded: excluded}
}

func seriousExclusions() []ExclusionKind { return []ExclusionKind{Unclear, Failed, RolledBack} }

func appendNew[T comparable](a, b []T) []T {
	return appendNewBy(a, b, func(x T) T { return x })
}

// appendNewBy appends the elements of b that have another key than all before them.
func appendNewBy[T any, K comparable](a, b []T, key func(T) K) []T {
	all := slices.Clone(a)
	for _, x := range b {
		if !slices.ContainsFunc(all, func(y T) bool { return key(y) == key(x) }) {
			all = append(all, x)
		}
	}
	return all
}

// Verdict returns the verdict of a run that can do nothing (more) of the plan.
func (p Plan) Verdict() Verdict {
	f := Findings{Refusals: p.Refusals, UnhealthyClusters: p.UnhealthyClusters, Unfinished: p.Unfinished, Excluded: p.Excluded, Drift: p.driftingHosts()}
	for _, b := range p.Batches {
		f.Work = append(f.Work, b.Hosts...)
	}
	for _, l := range p.Lanes { // of those in no batch
		f.Work = append(f.Work, l.Hosts...)
	}
	slices.Sort(f.Work)
	f.Work = slices.Compact(f.Work)
	return NewVerdict(f)
}

func (p Plan) driftingHosts() []string {
	var hosts []string
	for _, d := range p.Drift {
		hosts = append(hosts, d.Host)
	}
	return hosts
}

// Exit returns the exit code that a failure alone ends a run with.
func (f Failure) Exit() ExitCode {
	switch f.Kind {
	case HeldFailure:
		return ExitRefused
	case StoppedFailure:
		return ExitStopped
	}
	return ExitFailed
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
