package kubefacts

import (
	"fmt"
	"slices"
	"strings"
)

// Budget is a PodDisruptionBudget.
type Budget struct {
	Namespace string
	Name      string
	Selector  Selector

	Expected int  // pods that it counts
	Desired  int  // pods that must be healthy
	Healthy  int  // pods that are healthy
	Allowed  int  // pods that may be evicted now
	Stale    bool // its status is of an earlier version of it

	SyncFailure string // why the controller manager cannot compute the status; "" if it can

	CountsByControl bool // it counts only pods of controllers, by the scale of these: it has a maxUnavailable or a percentage

	ManagedBy string // controller that made it, as KIND/NAME, such as an operator's Cluster/pg; "": none did

	AllowsUnready bool // pods that are not ready may always be evicted (unhealthyPodEvictionPolicy AlwaysAllow)
}

// String returns the namespace and the name.
func (b Budget) String() string { return b.Namespace + "/" + b.Name }

// releasesUnready reports whether the API evicts pods that are not ready even if the budget allows no disruption.
func (b Budget) releasesUnready() bool {
	return b.AllowsUnready || b.Healthy >= b.Desired && b.Desired > 0
}

// describeRefusal returns the obstacle that the budget is to an eviction of a pod, and the next step, or "" if it allows
// the eviction.
func (b Budget) describeRefusal(p Pod) (ObstacleKind, string) {
	switch {
	case !p.Ready && b.releasesUnready():
	case b.SyncFailure != "" && (b.Stale || b.Allowed <= 0): // its other numbers may be wrong
		return BudgetFailed, fmt.Sprintf("the controller manager cannot compute PodDisruptionBudget %s, so it allows no eviction: %s; change it, or what it counts", b, b.SyncFailure)
	case b.Stale:
		return BudgetStale, fmt.Sprintf("the status of PodDisruptionBudget %s is not up to date, so it allows no eviction; find out whether the controller manager runs", b)
	case b.Allowed > 0:
	case b.Expected == 0 && b.CountsByControl && !p.Controlled:
		return BudgetImpossible, fmt.Sprintf("PodDisruptionBudget %s counts only pods of controllers, and has none, so it never allows an eviction; set its minAvailable to a number of pods", b)
	case b.Expected == 0:
		return BudgetExhausted, fmt.Sprintf("PodDisruptionBudget %s counts no pods yet, so it allows no eviction now", b)
	case b.Desired >= b.Expected && b.ManagedBy != "": // an operator that sees the cordon may move the pods, or change the budget
		return BudgetExhausted, fmt.Sprintf("PodDisruptionBudget %s needs %d healthy pods of %d, so it allows no eviction now; %s, which manages it, may move its pods once the node is cordoned", b, b.Desired, b.Expected, b.ManagedBy)
	case b.Desired >= b.Expected:
		return BudgetImpossible, fmt.Sprintf("PodDisruptionBudget %s needs %d healthy pods of %d, so it never allows an eviction; change its minAvailable or maxUnavailable, or add pods", b, b.Desired, b.Expected)
	default:
		return BudgetExhausted, fmt.Sprintf("PodDisruptionBudget %s needs %d healthy pods of %d, and has %d, so it allows no eviction now", b, b.Desired, b.Expected, b.Healthy)
	}
	return "", ""
}

// budgetsOf returns the budgets that match a pod.
func (w Workload) budgetsOf(p Pod) []Budget {
	var budgets []Budget
	for _, b := range w.Budgets[p.Namespace] {
		if b.Selector.Matches(p.Labels) {
			budgets = append(budgets, b)
		}
	}
	return budgets
}

// GuardOf returns the PodDisruptionBudget that alone guards a pod that is Ready, as NAMESPACE/NAME, or "".
func (w Workload) GuardOf(p Pod) string {
	if budgets := w.budgetsOf(p); len(budgets) == 1 && p.Ready && !p.Pending && !p.Finished && !p.Terminating {
		return budgets[0].String()
	}
	return ""
}

// Claim is the number of evictions that the drain of a node needs from one PodDisruptionBudget.
type Claim struct {
	Budget  string // NAMESPACE/NAME
	Pods    int
	Allowed int // evictions that the budget allows now

	ComesBack bool // a pod comes back to a cordoned node after its eviction
}

// Claims returns the claims of a drain of the node, sorted. Pods that are not Ready claim nothing: most budgets let them go.
func (w Workload) Claims(node string, o DrainOptions) []Claim {
	claims := map[string]Claim{}
	for _, p := range w.Pods[node] {
		if !o.stops(p) || p.Terminating || p.Finished || p.Pending || !p.Ready {
			continue
		}
		for _, b := range w.budgetsOf(p) {
			c := claims[b.String()]
			claims[b.String()] = Claim{b.String(), c.Pods + 1, b.Allowed, c.ComesBack || p.ToleratesCordon}
		}
	}
	list := make([]Claim, 0, len(claims))
	for _, c := range claims {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Claim) int { return strings.Compare(a.Budget, b.Budget) })
	return list
}
