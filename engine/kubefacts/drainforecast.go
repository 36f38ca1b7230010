package kubefacts

import (
	"cmp"
	"fmt"
	"slices"
)

// Pod is a pod on a node.
type Pod struct {
	UID         string // a pod of the same name with another UID is another pod
	Namespace   string
	Name        string
	Labels      map[string]string
	Mirror      bool // of a static pod, which the kubelet runs without the API
	DaemonSet   bool // a DaemonSet controls it, and it has not run to its end
	Controlled  bool // a controller makes another pod in its place
	EmptyDir    bool // it has data that end with it
	Pending     bool // it has not started
	Ready       bool // it is healthy for its budgets
	Finished    bool // it has run to its end
	Terminating bool // it is being deleted
}

// String returns the namespace and the name.
func (p Pod) String() string { return p.Namespace + "/" + p.Name }

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

	SyncFailure string // why the controller manager cannot compute the status; "": it can

	CountsByControl bool // it counts only pods of controllers, by the scale of these: it has a maxUnavailable or a percentage

	AllowsUnready bool // pods that are not ready may always be evicted (unhealthyPodEvictionPolicy AlwaysAllow)
}

// String returns the namespace and the name.
func (b Budget) String() string { return b.Namespace + "/" + b.Name }

// releasesUnready reports whether the API evicts pods that are not ready even if the budget allows no disruption.
func (b Budget) releasesUnready() bool {
	return b.AllowsUnready || b.Healthy >= b.Desired && b.Desired > 0
}

// Selector is a label selector. A selector without requirements matches every pod.
type Selector struct {
	None         bool // the budget has no selector, and matches no pod
	Requirements []Requirement
}

// Requirement is one requirement of a selector.
type Requirement struct {
	Key      string
	Operator Operator
	Values   []string
}

// Operator is the operator of a requirement.
type Operator string

// The operators.
const (
	In           Operator = "in"
	NotIn        Operator = "not-in" // also a pod without the label
	Exists       Operator = "exists"
	DoesNotExist Operator = "does-not-exist"
)

// Matches reports whether the labels meet all requirements. An operator that is not known matches, so that a budget is
// rather counted than overlooked.
func (s Selector) Matches(labels map[string]string) bool {
	if s.None {
		return false
	}
	return !slices.ContainsFunc(s.Requirements, func(r Requirement) bool {
		value, has := labels[r.Key]
		switch r.Operator {
		case In:
			return !has || !slices.Contains(r.Values, value)
		case NotIn:
			return has && slices.Contains(r.Values, value)
		case Exists:
			return !has
		case DoesNotExist:
			return has
		}
		return false
	})
}

// Workload has the pods of nodes, and all budgets of their cluster.
type Workload struct {
	Problem *Problem            // why they are not known
	Missing []Right             // rights that a drain by the API needs and the user lacks
	Pods    map[string][]Pod    // by node
	Budgets map[string][]Budget // by namespace
}

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
		switch {
		case !p.Ready && b.releasesUnready():
		case b.SyncFailure != "" && (b.Stale || b.Allowed <= 0): // its other numbers may be wrong
			found[BudgetFailed] = fmt.Sprintf("the controller manager cannot compute PodDisruptionBudget %s, so it allows no eviction: %s; change it, or what it counts", b, b.SyncFailure)
		case b.Stale:
			found[BudgetStale] = fmt.Sprintf("the status of PodDisruptionBudget %s is not up to date, so it allows no eviction; find out whether the controller manager runs", b)
		case b.Allowed > 0:
		case b.Expected == 0 && b.CountsByControl && !p.Controlled:
			found[BudgetImpossible] = fmt.Sprintf("PodDisruptionBudget %s counts only pods of controllers, and has none, so it never allows an eviction; set its minAvailable to a number of pods", b)
		case b.Expected == 0:
			found[BudgetExhausted] = fmt.Sprintf("PodDisruptionBudget %s counts no pods yet, so it allows no eviction now", b)
		case b.Desired >= b.Expected:
			found[BudgetImpossible] = fmt.Sprintf("PodDisruptionBudget %s needs %d healthy pods of %d, so it never allows an eviction; change its minAvailable or maxUnavailable, or add pods", b, b.Desired, b.Expected)
		default:
			found[BudgetExhausted] = fmt.Sprintf("PodDisruptionBudget %s needs %d healthy pods of %d, and has %d, so it allows no eviction now", b, b.Desired, b.Expected, b.Healthy)
		}
	}
	return found
}

func (w Workload) budgetsOf(p Pod) []Budget {
	var budgets []Budget
	for _, b := range w.Budgets[p.Namespace] {
		if b.Selector.Matches(p.Labels) {
			budgets = append(budgets, b)
		}
	}
	return budgets
}
