package kubefacts

import (
	"strings"
	"time"
)

// EvictionKind is the answer of an API to the eviction of a pod.
type EvictionKind string

// The answers to an eviction.
const (
	PodEvicted        EvictionKind = "evicted"           // the pod ends, after its grace period
	BudgetRefused     EvictionKind = "budget-refused"    // a PodDisruptionBudget allows none now
	TwoBudgetsRefused EvictionKind = "two-budgets"       // two PodDisruptionBudgets match the pod, which the API never evicts
	PodGone           EvictionKind = "gone"              // no pod has the name any more
	PodReplaced       EvictionKind = "replaced"          // another pod has the name, or the pod has changed meanwhile
	EvictionForbidden EvictionKind = "forbidden"         // the user lacks the right
	EvictionUnknown   EvictionKind = "no-answer"         // the API was lost, or busy: the pod may be evicted
	EvictionInvalid   EvictionKind = "refused-otherwise" // another refusal
)

// Eviction is the answer to the eviction of a pod.
type Eviction struct {
	Kind    EvictionKind
	Budget  string   // name of the PodDisruptionBudget that refused; "": the API did not tell
	Text    string   // reason of a refusal
	Problem *Problem // why there is no answer
}

// EvictionRequest asks for the end of one pod. Another pod of that name is not evicted.
type EvictionRequest struct {
	Pod   Pod
	Grace *int // seconds between SIGTERM and SIGKILL; nil: the pod's own
}

// budgetPrefix is before the name of the PodDisruptionBudget in the cause of a refusal. No field of the answer has the name.
const budgetPrefix = "The disruption budget "

// BudgetOfCause returns the name of the PodDisruptionBudget in the cause of a refusal.
func BudgetOfCause(text string) string {
	rest, found := strings.CutPrefix(text, budgetPrefix)
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(rest, " ")
	return name
}

// holderPrefix is before the identity of the run in the holder of a lease that a run of holdfast has.
const holderPrefix = "holdfast-"

// HolderOf returns the holder of the leases that a run takes.
func HolderOf(bastion, run string) string { return holderPrefix + bastion + "-" + run }

// IsOwn reports whether a run of holdfast has the lease. The hold of the host tells which one, and keeps others away: so a run with the
// hold may take over the lease.
func (l Lease) IsOwn() bool { return strings.HasPrefix(l.Holder, holderPrefix) }

// LeaseRequest asks for the lease of a node.
type LeaseRequest struct {
	Node     string
	NodeUID  string // the Node owns the lease, so that the lease ends with it
	Holder   string
	Duration time.Duration
}

// LeaseAnswer tells who has the lease of a node.
type LeaseAnswer string

// The answers to a LeaseRequest.
const (
	LeaseTaken   LeaseAnswer = "taken"
	LeaseForeign LeaseAnswer = "foreign" // another tool has it
	LeaseUnused  LeaseAnswer = "unused"  // the cluster has no leases of nodes, or the user may not read them
)

// Right is one right that a user of an API needs.
type Right struct {
	Verb        string
	Group       string // API group; "": the core group
	Resource    string
	Subresource string
	Namespace   string
}

// String returns the right for people.
func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return text
}
