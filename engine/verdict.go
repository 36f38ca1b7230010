package engine

import (
	"slices"

	"holdfast/engine/etcdfacts"
)

// Findings has every problem that a command found, and all work that is left.
type Findings struct {
	Stopped           bool                         `json:"stopped,omitempty"`            // the person stopped the command before all was done
	Declined          bool                         `json:"declined,omitempty"`           // of these, the person did not approve the plan or its next batch
	Failures          []Failure                    `json:"failures,omitempty"`           // failures of the run and of its hosts
	Refusals          []string                     `json:"refusals,omitempty"`           // why a start would not be safe
	UnhealthyClusters []etcdfacts.UnhealthyCluster `json:"unhealthy_clusters,omitempty"` // etcd clusters with problems
	Unfinished        []UnfinishedHost             `json:"unfinished,omitempty"`         // hosts that an earlier roll-out has not reached
	Work              []string                     `json:"work,omitempty"`               // hosts with work
	Excluded          []Exclusion                  `json:"excluded,omitempty"`           // excluded hosts
	Drift             []string                     `json:"drift,omitempty"`              // hosts with drift whose pools only report drift
}

// Verdict is the result of a command: the exit code and all findings. plan,
// status and apply end with this exit code, and none of them decides it for
// itself.
type Verdict struct {
	Exit     ExitCode `json:"exit"`     // exit code of the command
	Complete bool     `json:"complete"` // nothing is wrong and nothing is left to do
	Findings
}

// NewVerdict returns the verdict on findings. The first true statement of this
// list decides: the person stopped the command; something failed, is unhealthy
// or is not safe; an earlier roll-out is unfinished; there is work that can be
// done now; a person or the inventory keeps hosts from their work; hosts are
// unreachable; hosts are blocked; there is drift that is only reported. docs/exit-codes.md has the
// same list.
func NewVerdict(f Findings) Verdict {
	exit := f.exitCode()
	return Verdict{Exit: exit, Complete: exit == ExitOK, Findings: f}
}

func (f Findings) hasExcluded(whys ...ExclusionKind) bool {
	return slices.ContainsFunc(f.Excluded, func(x Exclusion) bool { return slices.Contains(whys, x.Kind) })
}

// And returns the verdict on two plays with exit codes of their own: the worse
// exit code, and all findings.
func (v Verdict) And(w Verdict) Verdict {
	return Verdict{Exit: v.Exit.Worse(w.Exit), Complete: v.Complete && w.Complete, Findings: v.Join(w.Findings)}
}

// Join returns the findings of both, each once, for one verdict on them.
func (f Findings) Join(g Findings) Findings {
	return Findings{
		Stopped:           f.Stopped || g.Stopped,
		Declined:          f.Declined || g.Declined,
		Failures:          appendNew(f.Failures, g.Failures),
		Refusals:          appendNew(f.Refusals, g.Refusals),
		Unfinished:        appendNew(f.Unfinished, g.Unfinished),
		Work:              appendNew(f.Work, g.Work),
		Excluded:          appendNew(f.Excluded, g.Excluded),
		Drift:             appendNew(f.Drift, g.Drift),
		UnhealthyClusters: appendNewBy(f.UnhealthyClusters, g.UnhealthyClusters, func(u etcdfacts.UnhealthyCluster) string { return u.Cluster }),
	}
}

// Serious returns those findings about hosts and clusters that make every
// command end with ExitFailed.
func (f Findings) Serious() Findings {
	serious := func(x Exclusion) bool { return slices.Contains(seriousExclusions(), x.Kind) }
	excluded := slices.DeleteFunc(slices.Clone(f.Excluded), func(x Exclusion) bool { return !serious(x) })
	return Findings{Refusals: f.Refusals, UnhealthyClusters: f.UnhealthyClusters, Excluded: excluded}
}

func seriousExclusions() []ExclusionKind { return []ExclusionKind{Unclear, Failed, RolledBack, Lost} }

func appendNew[T comparable](a, b []T) []T {
	return appendNewBy(a, b, func(x T) T { return x })
}

func appendNewBy[T any, K comparable](a, b []T, key func(T) K) []T {
	all := slices.Clone(a)
	for _, x := range b {
		if !slices.ContainsFunc(all, func(y T) bool { return key(y) == key(x) }) {
			all = append(all, x)
		}
	}
	return all
}

// Verdict returns the verdict of a run that can carry out nothing, or nothing
// more, of the plan.
func (p Plan) Verdict() Verdict {
	f := Findings{Refusals: p.Refusals, UnhealthyClusters: p.UnhealthyClusters, Unfinished: p.Unfinished, Excluded: p.Excluded, Drift: p.DriftingHosts()}
	for _, b := range p.Batches {
		f.Work = append(f.Work, b.Hosts...)
	}
	for _, l := range p.Lanes { // lanes also have the hosts with work that are in no batch
		f.Work = append(f.Work, l.Hosts...)
	}
	slices.Sort(f.Work)
	f.Work = slices.Compact(f.Work)
	return NewVerdict(f)
}

// DriftingHosts returns the hosts whose drift is only reported.
func (p Plan) DriftingHosts() []string {
	var hosts []string
	for _, d := range p.Drift {
		hosts = append(hosts, d.Host)
	}
	return hosts
}
