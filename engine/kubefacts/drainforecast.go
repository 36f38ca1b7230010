package kubefacts

import (
	"cmp"
	"fmt"
	"slices"
)

// DrainForecast has the pods that leave a node in a drain, and the obstacles to it.
type DrainForecast struct {
	Host       string     `json:"host"`
	Kubernetes string     `json:"kubernetes"`          // Kubernetes cluster of the node
	Node       string     `json:"node"`                // name of the node
	Pods       int        `json:"pods"`                // pods that go
	Problem    string     `json:"problem,omitempty"`   // why nothing is known about the pods
	Obstacles  []Obstacle `json:"obstacles,omitempty"` // everything that stops the drain
}

// Obstacle is something that stops a drain.
type Obstacle struct {
	Kind  ObstacleKind `json:"kind"`
	Pods  []string     `json:"pods"`  // the first 20 pods that it holds, as NAMESPACE/NAME
	Total int          `json:"total"` // pods that it holds
	Text  string       `json:"text"`  // the obstacle and the next step, as a sentence
}

// ObstacleKind is the kind of an obstacle.
type ObstacleKind string

// The kinds of obstacles.
const (
	BudgetImpossible ObstacleKind = "budget-impossible" // a PodDisruptionBudget can never allow an eviction
	BudgetExhausted  ObstacleKind = "budget-exhausted"  // a PodDisruptionBudget allows none now
	BudgetStale      ObstacleKind = "budget-stale"      // its status is not up to date, so the API refuses evictions
	BudgetFailed     ObstacleKind = "budget-failed"     // the controller manager cannot compute its status, so the API refuses evictions
	TwoBudgets       ObstacleKind = "two-budgets"       // two PodDisruptionBudgets match a pod, which the API never evicts
	NoController     ObstacleKind = "no-controller"     // nothing makes the pod again
	EmptyDirData     ObstacleKind = "empty-dir"         // the pod loses data of an emptyDir
	MissingRight     ObstacleKind = "missing-right"     // the user of the kubeconfig may not drain
)

// IsPermanent reports whether a drain by the API cannot succeed before a person changes something.
func (k ObstacleKind) IsPermanent() bool {
	switch k {
	case BudgetImpossible, BudgetFailed, TwoBudgets, NoController, EmptyDirData, MissingRight:
		return true
	case BudgetExhausted, BudgetStale:
	}
	return false
}

// obstacleKinds is the order of obstacles.
var obstacleKinds = []ObstacleKind{MissingRight, BudgetImpossible, TwoBudgets, BudgetExhausted, BudgetStale, BudgetFailed, NoController, EmptyDirData}

// Forecast returns the pods that a drain of the node would evict now, and the obstacles to it.
func (w Workload) Forecast(host string, n NodeState, o DrainOptions) DrainForecast {
	f := DrainForecast{Host: host, Kubernetes: n.Kubernetes, Node: n.Node}
	if w.Problem != nil {
		f.Problem = w.Problem.Text()
		return f
	}
	type finding struct {
		kind ObstacleKind
		text string
	}
	found := map[finding][]string{}
	if o.ByAPI {
		for _, r := range w.Missing {
			found[finding{MissingRight, fmt.Sprintf("the user of the kubeconfig may not %s; give it the role of examples/kubernetes-rbac.yaml", r)}] = []string{}
		}
	}
	for _, p := range w.Pods[n.Node] {
		if !o.stops(p) || p.Terminating {
			continue
		}
		f.Pods++
		if p.Finished {
			continue // kubectl and the API evict it in any case
		}
		for kind, text := range w.findObstacles(p, o) {
			x := finding{kind, text}
			found[x] = append(found[x], p.String())
		}
	}
	for x, pods := range found {
		slices.Sort(pods)
		const most = 20
		f.Obstacles = append(f.Obstacles, Obstacle{Kind: x.kind, Pods: pods[:min(len(pods), most)], Total: len(pods), Text: x.text})
	}
	slices.SortFunc(f.Obstacles, func(a, b Obstacle) int {
		return cmp.Or(slices.Index(obstacleKinds, a.Kind)-slices.Index(obstacleKinds, b.Kind), cmp.Compare(a.Text, b.Text))
	})
	return f
}

// findObstacles returns the obstacles of one pod, by their kind.
func (w Workload) findObstacles(p Pod, o DrainOptions) map[ObstacleKind]string {
	found := map[ObstacleKind]string{}
	if !p.Controlled && !o.Force {
		found[NoController] = "no controller makes the pod again, so kubectl drain needs --force"
		if o.ByAPI {
			found[NoController] = "no controller makes the pod again; set force in the drain of its pool to evict it"
		}
	}
	if p.EmptyDir && !o.DeleteEmptyDirData {
		found[EmptyDirData] = "the data of an emptyDir ends with the pod, so kubectl drain needs --delete-emptydir-data"
		if o.ByAPI {
			found[EmptyDirData] = "the data of an emptyDir ends with the pod; set delete_emptydir_data in the drain of its pool to evict it"
		}
	}
	if p.Pending {
		return found // no budget guards it
	}
	budgets := w.budgetsOf(p)
	if len(budgets) > 1 {
		found[TwoBudgets] = fmt.Sprintf("the PodDisruptionBudgets %s and %s both match, and the API evicts no such pod; change the selector of one", budgets[0], budgets[1])
		return found
	}
	for _, b := range budgets {
		if kind, text := b.describeRefusal(p); kind != "" {
			found[kind] = text
		}
	}
	return found
}
