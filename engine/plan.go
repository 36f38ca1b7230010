package engine

import (
	"fmt"
	"slices"
	"strings"
)

// PlanSchema is the version of a plan's JSON. It only grows.
const PlanSchema = 1

// Plan is the work of a run, and the work that it leaves out, with reasons. It is a value:
// the same inventory and facts give the same plan, apply carries out the
// approved work, and a host that matches plans to nothing.
//
// These hold for every plan: a host is in at most one batch and one lane, and
// then has a HostPlan; a host that is excluded has none, unless it only waits
// for its window; no batch has two
// members of an etcd cluster; no batch disrupts two zones of a pool, or more
// hosts of a pool, or of the site, than its budget has left; with a refusal, or
// an unfinished roll-out that another is to follow, there are no lanes
// and no batches.
type Plan struct {
	Schema            int                `json:"schema"`
	Site              string             `json:"site"`
	Total             int                `json:"total"` // hosts in the inventory
	Matching          []string           `json:"matching,omitempty"`
	Hosts             []HostPlan         `json:"hosts,omitempty"` // hosts with work, in inventory order
	Excluded          []Exclusion        `json:"excluded,omitempty"`
	Play              string             `json:"play,omitempty"`   // of a playbook, by name
	Start             []Step             `json:"start,omitempty"`  // gates that are asked once, before anything is touched
	Before            []Step             `json:"before,omitempty"` // steps that run once, before the first disruption
	Lanes             []Lane             `json:"lanes,omitempty"`
	Batches           []Batch            `json:"batches,omitempty"`
	Refusals          []string           `json:"refusals,omitempty"`   // why nothing may start
	Unfinished        []UnfinishedHost   `json:"unfinished,omitempty"` // hosts that an earlier roll-out has not reached: no roll-out of another OS may begin
	Warnings          []string           `json:"warnings,omitempty"`
	UnhealthyClusters []UnhealthyCluster `json:"sick_clusters,omitempty"` // etcd clusters of its hosts with which something is wrong, whether or not they have work
	Drift             []HostDrift        `json:"drift,omitempty"`         // drift that pools only report

	CertificateProblems []CertificateProblem `json:"certificate_problems,omitempty"` // certificates of etcd clusters of its hosts that have expired, or soon will

	EtcdUpdates    []EtcdUpdate `json:"etcd_updates,omitempty"`     // other versions of etcd that staged OS bring
	AnyEtcdVersion bool         `json:"any_etcd_version,omitempty"` // updates that etcd does not support are allowed

	Selected []string          `json:"selected,omitempty"` // hosts that the plan is for; none: all
	Settings map[string]string `json:"terms,omitempty"`    // settings of the inventory and the playbook, by subject

	Secrets *Seal `json:"secrets,omitempty"` // of a saved plan; shows whether a secret in its commands has changed

	Repair []string `json:"repair,omitempty"` // hosts that may be disrupted although their own etcd member is not healthy

	// The next plan of the same run begins from these: the run hands it the approved plan.
	// They are not JSON, because hosts may know of newer ones when a saved plan is used.
	LastRollout *Rollout `json:"-"` // the newest that hosts know of
	Rollout     Rollout  `json:"-"` // the roll-out that this plan is a part of
}

// HostDrift is the drift of a host whose pool only reports it.
type HostDrift struct {
	Host    string   `json:"host"`
	Changes []Change `json:"changes"` // that would undo it
}

// HostPlan is the work on one host.
type HostPlan struct {
	Host     string   `json:"host"`
	Pool     string   `json:"pool"`
	Cluster  string   `json:"cluster,omitempty"`
	Zone     string   `json:"zone,omitempty"`
	Adopt    string   `json:"adopt,omitempty"` // dead run whose hold is adopted
	Changes  []Change `json:"changes,omitempty"`
	Actions  []Action `json:"actions"`
	Stage    []Step   `json:"stage,omitempty"`
	Sequence []Step   `json:"roll"`
	Rollback []Step   `json:"rollback,omitempty"` // replaces the rest of Sequence if the host fails after its reboot
}

// Lane is a sequence of hosts that are staged one after the other. Lanes run
// side by side: one for the members of each etcd cluster and the hosts near
// it, the leader last, and one for each other host.
type Lane struct {
	Cluster string   `json:"cluster,omitempty"`
	Hosts   []string `json:"hosts"`

	Governing *Governing `json:"governing,omitempty"` // limits of the cluster's disk latency while they are staged
}

// Batch is a set of hosts that are disrupted together.
type Batch struct {
	Pools          []string `json:"pools"`
	Hosts          []string `json:"hosts"`
	Before         []Step   `json:"before,omitempty"` // gates
	After          []Step   `json:"after,omitempty"`
	Canaries       []string `json:"canaries,omitempty"` // pools whose hosts in this batch are canaries
	Soak           Duration `json:"soak,omitempty"`     // remaining soak before this batch
	PassedCanaries []string `json:"proven,omitempty"`   // canaries that have gone: the gates of after_batch in before ask about them
}

// HostsToAsk returns the hosts for which a gate of Before is asked: the hosts of the
// batch for a gate before it, and the canaries that it follows for a gate after a batch.
func (b Batch) HostsToAsk(g Gate) []string {
	var hosts []string
	if g.At(BeforeBatch) {
		hosts = append(hosts, b.Hosts...)
	}
	if g.At(AfterBatch) {
		hosts = append(hosts, b.PassedCanaries...)
	}
	return hosts
}

// Exclusion is a host with, or possibly with, work that the plan leaves alone.
type Exclusion struct {
	Host   string        `json:"host"`
	Kind   ExclusionKind `json:"why"`
	Reason string        `json:"reason"` // a sentence for people
}

// ExclusionKind is the kind of an exclusion.
type ExclusionKind string

// The kinds of exclusion.
const (
	Unreachable ExclusionKind = "unreachable" // nothing is known about it
	Held        ExclusionKind = "held"        // somebody else holds it, or holds a host that it depends on
	Unclear     ExclusionKind = "unclear"     // its state is not understood
	Blocked     ExclusionKind = "blocked"     // its pool's budget, or a pool it comes after, leaves no room
	Paused      ExclusionKind = "paused"      // by the inventory
	Closed      ExclusionKind = "closed"      // its pool's maintenance window is not open; it may be staged
	Failed      ExclusionKind = "failed"      // it failed in this run
	RolledBack  ExclusionKind = "rolled-back" // it was rolled back from the OS that it should have
)

// Host returns the plan of a host, or nil if there is nothing to do on it.
func (p Plan) Host(name string) *HostPlan {
	for i := range p.Hosts {
		if p.Hosts[i].Host == name {
			return &p.Hosts[i]
		}
	}
	return nil
}

// ByHost returns the plans of all hosts by name. A search for each would need the square
// of the hosts.
func (p Plan) ByHost() map[string]*HostPlan {
	m := make(map[string]*HostPlan, len(p.Hosts))
	for i := range p.Hosts {
		m[p.Hosts[i].Host] = &p.Hosts[i]
	}
	return m
}

// HasWork reports whether there is anything that may be done now.
func (p Plan) HasWork() bool {
	return len(p.Batches) > 0 || len(p.Lanes) > 0 || len(p.Before) > 0
}

// Empty reports whether nothing is to be done and nothing was left out.
func (p Plan) Empty() bool {
	return len(p.Hosts) == 0 && len(p.Excluded) == 0 && len(p.Refusals) == 0 && len(p.Drift) == 0 && len(p.UnhealthyClusters) == 0
}

// HasExclusion reports whether a host was excluded for that reason.
func (p Plan) HasExclusion(why ExclusionKind) bool {
	for _, x := range p.Excluded {
		if x.Kind == why {
			return true
		}
	}
	return false
}

// UnhealthyCluster is an etcd cluster with problems.
type UnhealthyCluster struct {
	Cluster  string   `json:"cluster"`
	Problems []string `json:"problems"`          // a sentence each
	Voters   int      `json:"voters,omitempty"`  // 0: not known
	Healthy  int      `json:"healthy,omitempty"` // of the voters
	Quorum   int      `json:"quorum,omitempty"`  // voters that must be healthy for etcd to accept writes
}

// String returns the whole sentence.
func (s UnhealthyCluster) String() string {
	text := "etcd cluster " + s.Cluster + " is not healthy: " + strings.Join(s.Problems, "; ")
	if s.Voters > 0 {
		text += fmt.Sprintf(" (%d of %d voters healthy, the quorum is %d)", s.Healthy, s.Voters, s.Quorum)
	}
	return text
}

// UnfinishedHost is a host that an earlier roll-out has not reached.
type UnfinishedHost struct {
	Host   string `json:"host"`
	Reason string `json:"reason"`           // the OS that it runs instead, as a sentence without the host
	Target string `json:"target,omitempty"` // digest of the OS that it was to run
}

// String is the whole sentence.
func (s UnfinishedHost) String() string { return s.Host + " " + s.Reason }

// Seal is a digest of the secrets that a saved plan was made with.
type Seal struct {
	Salt   string `json:"salt"`   // random, hexadecimal
	Digest string `json:"digest"` // Argon2id, hexadecimal
}

// NonDisruptive reports whether the host is changed without a disruption, so that it
// needs no hold, no budget and no quorum.
func (hp HostPlan) NonDisruptive() bool {
	return hp.Adopt == "" && len(hp.Changes) > 0 && !hp.Disruptive()
}

// Disruptive reports whether the host is drained or rebooted, or has a unit
// restarted, which may well be the one that others depend on, or a playbook
// says that its command disrupts.
func (hp HostPlan) Disruptive() bool {
	return slices.ContainsFunc(hp.Actions, func(a Action) bool {
		return slices.Contains([]ActionType{DrainAction, RestartUnit, CommandAction, DefragAction, RebootAction}, a.Type)
	})
}

// FallsBack reports whether the host is to be drained and rebooted if one of
// its actions fails.
func (hp HostPlan) FallsBack() bool {
	return slices.ContainsFunc(hp.Sequence, func(s Step) bool { return s.Do.Exec != nil && s.Do.Exec.Fallback })
}

// EtcdUpdate is another version of etcd on a host that the staged OS brings.
type EtcdUpdate struct {
	Host           string         `json:"host"`
	Cluster        string         `json:"cluster"`         // etcd cluster of which it is a member
	From           string         `json:"from,omitempty"`  // version that its member runs; missing: not known
	To             string         `json:"to"`              // version in the staged OS
	ClusterVersion string         `json:"cluster_version"` // cluster version of etcd
	Kind           EtcdUpdateKind `json:"kind"`            // whether etcd supports it
	Text           string         `json:"text"`            // as a sentence
}

// EtcdUpdateKind says whether etcd supports an update.
type EtcdUpdateKind string

// The kinds of updates of etcd.
const (
	EtcdSupported EtcdUpdateKind = "supported" // the minor version of the cluster, or the next
	EtcdDowngrade EtcdUpdateKind = "downgrade" // older than the cluster: etcd does not start
	EtcdSkips     EtcdUpdateKind = "skips"     // skips a minor version
)
