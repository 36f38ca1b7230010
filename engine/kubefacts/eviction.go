package kubefacts

import "strings"

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
