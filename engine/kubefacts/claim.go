package kubefacts

import (
	"slices"
	"strings"
)

// Claim is the number of evictions that the drain of a node needs from one PodDisruptionBudget.
type Claim struct {
	Budget  string // NAMESPACE/NAME
	Pods    int
	Allowed int // evictions that the budget allows now
}

// GuardOf returns the PodDisruptionBudget that alone guards a pod that is Ready, as NAMESPACE/NAME, or "".
func (w Workload) GuardOf(p Pod) string {
	if budgets := w.budgetsOf(p); len(budgets) == 1 && p.Ready && !p.Pending && !p.Finished && !p.Terminating {
		return budgets[0].String()
	}
	return ""
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
			claims[b.String()] = Claim{b.String(), c.Pods + 1, b.Allowed}
		}
	}
	list := make([]Claim, 0, len(claims))
	for _, c := range claims {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Claim) int { return strings.Compare(a.Budget, b.Budget) })
	return list
}
