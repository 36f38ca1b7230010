package engine

import (
	"slices"

	"holdfast/engine/etcdfacts"
	"holdfast/engine/kubefacts"
	"holdfast/engine/resource"
)

// PlanSchema is the version of a plan's JSON. It only increases.
const PlanSchema = 1

// Plan has the work of a run, and the work that the run leaves out, with
// reasons. A plan is a value. The same inventory and facts make the same plan.
// apply carries out the approved work, and the plan of a host that matches is
// empty.
//
// These rules hold for every plan. A host is in at most one batch and in at
// most one lane, and every such host has a HostPlan. An excluded host has no
// HostPlan, unless it only waits for its window. No batch has two members of
// one etcd cluster. No batch disrupts two zones of a pool, or more hosts of a
// pool or of the site than the budget allows. A plan with a refusal, or with an
// unfinished roll-out that another roll-out would follow, has no lanes and no
// batches.
type Plan struct {
	Schema            int                          `json:"schema"`
	Site              string                       `json:"site"`
	Total             int                          `json:"total"` // number of hosts in the inventory
	Matching          []string                     `json:"matching,omitempty"`
	Hosts             []HostPlan                   `json:"hosts,omitempty"` // hosts with work, in inventory order
	Excluded          []Exclusion                  `json:"excluded,omitempty"`
	Reserved          []Reservation                `json:"reserved,omitempty"` // hosts of the site off which people, or other runs, keep this run
	Play              string                       `json:"play,omitempty"`     // name of the play of a playbook
	Start             []Step                       `json:"start,omitempty"`    // gates that are asked once, before anything is touched
	Before            []Step                       `json:"before,omitempty"`   // steps that run once, before the first disruption
	Lanes             []Lane                       `json:"lanes,omitempty"`
	Batches           []Batch                      `json:"batches,omitempty"`
	Refusals          []string                     `json:"refusals,omitempty"`    // why nothing may start
	Unfinished        []UnfinishedHost             `json:"unfinished,omitempty"`  // hosts that an earlier roll-out has not reached: no roll-out of another OS may begin
	RecordedOn        []string                     `json:"recorded_on,omitempty"` // hosts that have recorded the unfinished roll-out
	Warnings          []string                     `json:"warnings,omitempty"`
	UnhealthyClusters []etcdfacts.UnhealthyCluster `json:"unhealthy_clusters,omitempty"` // etcd clusters of its hosts that have problems, whether or not these hosts have work
	Drift             []HostDrift                  `json:"drift,omitempty"`              // drift that pools only report

	CertificateProblems []etcdfacts.CertificateProblem `json:"certificate_problems,omitempty"` // certificates of etcd clusters of its hosts that have expired, or soon will

	EtcdUpdates    []EtcdUpdate `json:"etcd_updates,omitempty"`     // staged OS versions that bring another version of etcd
	AnyEtcdVersion bool         `json:"any_etcd_version,omitempty"` // the plan may contain updates of etcd that etcd does not support

	Forecast *Forecast `json:"forecast,omitempty"` // how long the work takes; only in a plan that is shown

	Drains []kubefacts.DrainForecast `json:"drains,omitempty"` // pods that leave Kubernetes nodes, and obstacles to their drains; only in the first plan of a run

	FullReboot bool `json:"full_reboot,omitempty"` // each reboot is a full one, even if its pool allows a lesser one

	RetryRolledBack bool   `json:"retry_rolled_back,omitempty"` // an OS is tried again on hosts that were rolled back from it
	OverriddenRun   string `json:"overridden_run,omitempty"`    // run whose roll-out need not be finished before another one begins

	OverriddenHosts []string `json:"overridden_hosts,omitempty"` // hosts whose roll-out, of another version of holdfast, need not be finished either

	Selected []string          `json:"selected,omitempty"` // hosts that the plan is for; empty: all
	Settings map[string]string `json:"settings,omitempty"` // settings of the inventory and the playbook, by subject

	Secrets *Seal `json:"secrets,omitempty"` // seal of a saved plan, which shows whether a secret in its commands has changed

	Repair []string `json:"repair,omitempty"` // hosts that may be disrupted although their own etcd member is not healthy

	// ExceededBudget is a failure budget that allows fewer hosts of the play to fail than have failed: no later play may begin.
	ExceededBudget FailureBudget `json:"-"`

	// The next plan of the same run begins from LastRollout and Rollout: the
	// run takes both from the approved plan. Both are not part of the JSON,
	// because hosts may know newer roll-outs when a saved plan is used.
	LastRollout *Rollout `json:"-"` // the newest roll-out that hosts know
	Rollout     Rollout  `json:"-"` // the roll-out to which this plan belongs
}

// HostDrift is the drift of a host whose pool only reports it.
type HostDrift struct {
	Host    string   `json:"host"`
	Changes []Change `json:"changes"` // changes that would undo the drift
}

// HostPlan is the work on one host.
type HostPlan struct {
	Host    string `json:"host"`
	Pool    string `json:"pool"`
	Cluster string `json:"cluster,omitempty"`
	Zone    string `json:"zone,omitempty"`
	Adopt   string `json:"adopt,omitempty"` // dead run whose hold is adopted

	BootID resource.BootID `json:"boot_id,omitempty"` // boot of the host that the plan is about
	Aim    string          `json:"aim,omitempty"`     // digest of the desired OS and configuration; only in a saved plan

	Changes  []Change `json:"changes,omitempty"`
	Actions  []Action `json:"actions"`
	Stage    []Step   `json:"stage,omitempty"`
	Sequence []Step   `json:"sequence"`
	Rollback []Step   `json:"rollback,omitempty"` // replaces the rest of Sequence if the host fails after its reboot
	Reboot   *Reboot  `json:"reboot,omitempty"`   // nil: the sequence reboots nothing

	// RestartsFirst means that services of the host run from a deployment that its new OS would remove. So Sequence only
	// restarts them, and all other changes follow in a later batch of the same run.
	RestartsFirst bool `json:"restarts_first,omitempty"`
}

// Lane is a sequence of hosts that are staged one after the other. Lanes are
// staged side by side. The members of an etcd cluster and the hosts near it
// share one lane, with the leader last. Each other host has a lane of its own.
type Lane struct {
	Cluster string   `json:"cluster,omitempty"`
	Hosts   []string `json:"hosts"`

	Governing *Governing `json:"governing,omitempty"` // limits of the cluster's disk latency during the staging
}

// Batch is a set of hosts that are disrupted together.
type Batch struct {
	Pools          []string `json:"pools"`
	Hosts          []string `json:"hosts"`
	Before         []Step   `json:"before,omitempty"` // gates before the batch
	After          []Step   `json:"after,omitempty"`
	Canaries       []string `json:"canaries,omitempty"`        // pools whose hosts in this batch are canaries
	Soak           Duration `json:"soak,omitempty"`            // remaining soak before the batch
	PassedCanaries []string `json:"passed_canaries,omitempty"` // canaries that have passed: the after-batch gates in Before ask about them
}

// HostsToAsk returns the hosts for which a gate in Before is asked. A
// before-batch gate is asked for the hosts of the batch, and an after-batch
// gate for the canaries before it.
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

// Exclusion is a host with work, or possibly with work, that the plan leaves
// out.
type Exclusion struct {
	Host         string        `json:"host"`
	Kind         ExclusionKind `json:"kind"`
	Reason       string        `json:"reason"`                   // a sentence for people
	WaitsForHold bool          `json:"waits_for_hold,omitempty"` // it is blocked, and would not be without the holds of others
}

// ExclusionKind is the kind of an exclusion.
type ExclusionKind string

// The kinds of exclusion.
const (
	Unreachable   ExclusionKind = "unreachable" // nothing is known about the host
	Held          ExclusionKind = "held"        // somebody else holds the host, or a host that it depends on
	Unclear       ExclusionKind = "unclear"     // its state is not understood
	Blocked       ExclusionKind = "blocked"     // the budget of its pool, or a pool that must be complete before it, leaves no room
	InMaintenance ExclusionKind = "maintenance" // the inventory says that people work on it
	Paused        ExclusionKind = "paused"      // the inventory pauses it
	Closed        ExclusionKind = "closed"      // the maintenance window of its pool is closed; the host may be staged
	Failed        ExclusionKind = "failed"      // the host failed in this run
	RolledBack    ExclusionKind = "rolled-back" // the host was rolled back from the OS that it should have

	Lost            ExclusionKind = "lost"              // an earlier run changed the host, and it has not answered since
	NeedsFullReboot ExclusionKind = "needs-full-reboot" // its pool requires soft reboots, and a soft reboot is not enough or not possible
	BlockedDrain    ExclusionKind = "blocked-drain"     // a drain through the API of Kubernetes cannot succeed before a person changes something
	KubernetesAway  ExclusionKind = "kubernetes-away"   // it must be drained, or may be cordoned, and the API of its Kubernetes cluster does not answer
	OldProcess      ExclusionKind = "old-process"       // a service that survived a soft reboot runs from a deployment that the new OS would remove
)

// Host returns the plan of a host, or nil if the host has no work.
func (p Plan) Host(name string) *HostPlan {
	for i := range p.Hosts {
		if p.Hosts[i].Host == name {
			return &p.Hosts[i]
		}
	}
	return nil
}

// ByHost returns the plans of all hosts by name. A call of Host for each host
// would take quadratic time.
func (p Plan) ByHost() map[string]*HostPlan {
	m := make(map[string]*HostPlan, len(p.Hosts))
	for i := range p.Hosts {
		m[p.Hosts[i].Host] = &p.Hosts[i]
	}
	return m
}

// HasWork reports whether the plan has work that may be done now.
func (p Plan) HasWork() bool {
	return len(p.Batches) > 0 || len(p.Lanes) > 0 || len(p.Before) > 0
}

// OverridesRollout reports whether the plan may begin a roll-out although an earlier one is unfinished, or was recorded by
// another version of holdfast.
func (p Plan) OverridesRollout() bool { return p.OverriddenRun != "" || len(p.OverriddenHosts) > 0 }

// Empty reports whether the plan has no work and leaves no work out.
func (p Plan) Empty() bool {
	return len(p.Hosts) == 0 && len(p.Excluded) == 0 && len(p.Refusals) == 0 && len(p.Drift) == 0 && len(p.UnhealthyClusters) == 0
}

// HasExclusion reports whether a host is excluded for this reason.
func (p Plan) HasExclusion(why ExclusionKind) bool {
	return slices.ContainsFunc(p.Excluded, func(x Exclusion) bool { return x.Kind == why })
}

// UnfinishedHost is a host that an earlier roll-out has not reached.
type UnfinishedHost struct {
	Host   string `json:"host"`
	Reason string `json:"reason"`           // the OS that the host runs instead, as a sentence without the name of the host
	Target string `json:"target,omitempty"` // digest of the OS that the host should run
}

// String returns the sentence with the name of the host.
func (s UnfinishedHost) String() string { return s.Host + " " + s.Reason }

// Seal is a digest of the secrets with which a saved plan was made.
type Seal struct {
	Salt   string `json:"salt"`   // random, hexadecimal
	Digest string `json:"digest"` // Argon2id, hexadecimal
}

// HasAction reports whether the host needs an action of this type.
func (hp HostPlan) HasAction(t ActionType) bool {
	return slices.ContainsFunc(hp.Actions, func(a Action) bool { return a.Type == t })
}

// NonDisruptive reports whether the host is changed without a disruption, so
// that it needs no hold, no budget and no quorum.
func (hp HostPlan) NonDisruptive() bool {
	return hp.Adopt == "" && len(hp.Changes) > 0 && !hp.Disruptive()
}

// Disruptive reports whether the host is drained or rebooted, has a unit
// restarted, or runs a command that the playbook declares disruptive. A restart
// counts because other hosts may depend on the unit.
func (hp HostPlan) Disruptive() bool {
	return slices.ContainsFunc(hp.Actions, func(a Action) bool {
		return slices.Contains([]ActionType{DrainAction, RestartUnit, CommandAction, DefragAction, RebootAction}, a.Type)
	})
}

// TouchesLogin reports whether a change may prevent the account of the run from
// logging in to the host, or from becoming root.
func (hp HostPlan) TouchesLogin() bool {
	return slices.ContainsFunc(hp.Changes, func(c Change) bool { return c.Login })
}

// FallsBack reports whether the host is drained and rebooted if one of its
// actions fails.
func (hp HostPlan) FallsBack() bool {
	return slices.ContainsFunc(hp.Sequence, func(s Step) bool { return s.Do.Exec != nil && s.Do.Exec.Fallback })
}

// EtcdUpdate is a staged OS that brings another version of etcd to a host.
type EtcdUpdate struct {
	Host           string         `json:"host"`
	Cluster        string         `json:"cluster"`         // etcd cluster of which the host is a member
	From           string         `json:"from,omitempty"`  // version that its member runs; missing: not known
	To             string         `json:"to"`              // version of etcd in the staged OS
	ClusterVersion string         `json:"cluster_version"` // cluster version of etcd
	Kind           EtcdUpdateKind `json:"kind"`            // whether etcd supports the update
	Text           string         `json:"text"`            // the update as a sentence
}

// EtcdUpdateKind says whether etcd supports an update.
type EtcdUpdateKind string

// The kinds of updates of etcd.
const (
	EtcdSupported EtcdUpdateKind = "supported" // the minor version of the cluster, or the next
	EtcdDowngrade EtcdUpdateKind = "downgrade" // older than the cluster: etcd does not start
	EtcdSkips     EtcdUpdateKind = "skips"     // skips a minor version

	EtcdForgetsPromotions   EtcdUpdateKind = "forgets-promotions"    // from an etcd that has not stored which learners were promoted: the new etcd may take voters for learners, and not start
	EtcdMayForgetPromotions EtcdUpdateKind = "may-forget-promotions" // the same, if nobody knows whether members were learners: the plan only warns
)

// IsRefused reports whether a plan refuses such an update.
func (k EtcdUpdateKind) IsRefused() bool { return k != EtcdSupported && k != EtcdMayForgetPromotions }
