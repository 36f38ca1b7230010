package kubefacts

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// surelyLater is the time after the first look that proves that a pod was made after the cordon: clocks are compared to
// within a second, and times of pods have whole seconds.
const surelyLater = 2 * time.Second

// DrainOptions decide which pods a drain evicts, as the flags of kubectl drain do.
type DrainOptions struct {
	ByAPI              bool // holdfast drains; false: a command does, whose options nobody knows
	Force              bool // also pods that no controller makes again
	DeleteEmptyDirData bool // also pods with data that end with them
	PodSelector        Selector
}

// stops reports whether a pod must go before the node is drained.
func (o DrainOptions) stops(p Pod) bool {
	return !p.Mirror && !p.DaemonSet && o.PodSelector.Matches(p.Labels)
}

// forbids returns why the options do not allow to evict a pod, or "". A pod that has run to its end loses nothing.
func (o DrainOptions) forbids(p Pod) string {
	switch {
	case p.Finished:
	case !p.Controlled && !o.Force:
		return "no controller makes it again, and force is not set"
	case p.EmptyDir && !o.DeleteEmptyDirData:
		return "it has data in an emptyDir, and delete_emptydir_data is not set"
	}
	return ""
}

// Drain is a drain of one node. It follows pods by their UIDs: a pod that was made again elsewhere under its name is another pod.
type Drain struct {
	Options DrainOptions
	NodeUID string // of the node that was cordoned

	WasNotReady bool // the node was not Ready before the drain, and no look has found it Ready

	firstLook time.Time           // by the clock of the API
	arrivals  map[string]arrival  // by UID: every pod that a look has found
	returned  map[string]bool     // by the UID of their controller: a pod that came later was evicted
	evicted   map[string]bool     // by UID: the API has agreed to the end of the pod
	answers   map[string]Eviction // by UID: the last refusal
}

// arrival tells how a pod came to the node.
type arrival int

const (
	foundFirst arrival = iota // the first look found it
	cameLater
	comesBack // it came later, and another one would come after it: it stays, like a pod of a DaemonSet
)

// noteArrivals notes the pods that the drain has not seen before. The scheduler sends a pod that tolerates the cordon to the
// cordoned node, and a controller whose template names the node makes pods there: to evict these again and again never ends.
// A pod that comes late once, or was made before the cordon, is evicted: it may have been on its way when the node was
// cordoned.
func (d *Drain) noteArrivals(node string, w Workload) {
	later := cameLater
	if d.arrivals == nil {
		d.firstLook, d.arrivals, later = w.ReadAt, map[string]arrival{}, foundFirst
	}
	for _, p := range w.Pods[node] {
		if _, seen := d.arrivals[p.UID]; seen {
			continue
		}
		d.arrivals[p.UID] = later
		if later == cameLater && (p.ToleratesCordon || d.returned[p.Owner] && p.Created.Sub(d.firstLook) >= surelyLater) {
			d.arrivals[p.UID] = comesBack
		}
	}
}

// DrainAction is the next action of a drain. Exactly one of Done and Failure is set, or neither, while pods are left.
type DrainAction struct {
	Done    bool
	Failure string // why the drain cannot go on; "": it can
	Evict   []Pod  // pods to evict now
	Left    []Pod  // pods that must go, in the order of their names
	Lost    []Pod  // pods that the silent kubelet of the node will not end, and that do not count as left
}

// Next returns the next action for a node and its pods, as they are now.
func (d *Drain) Next(n Node, w Workload) DrainAction {
	switch {
	case n.Gone:
		return DrainAction{Failure: DescribeGone(n.Name)}
	case d.NodeUID != "" && n.UID != d.NodeUID:
		return DrainAction{Failure: fmt.Sprintf("node %s is not the one that was cordoned: it has been registered again", n.Name)}
	case !n.Cordoned:
		return DrainAction{Failure: fmt.Sprintf("somebody has uncordoned node %s", n.Name)}
	}
	d.noteArrivals(n.Name, w)
	d.WasNotReady = d.WasNotReady && !n.Ready
	var a DrainAction
	var forbidden []string
	for _, p := range w.Pods[n.Name] {
		if !d.Options.stops(p) || d.arrivals[p.UID] == comesBack {
			continue
		}
		if d.WasNotReady && p.Terminating && p.Overdue {
			a.Lost = append(a.Lost, p)
			continue
		}
		a.Left = append(a.Left, p)
		if p.Terminating || d.evicted[p.UID] {
			continue
		}
		a.Evict = append(a.Evict, p)
		if why := d.whyNever(p, w); why != "" {
			forbidden = append(forbidden, fmt.Sprintf("%s (%s)", p, why))
		}
	}
	byName := func(x, y Pod) int { return strings.Compare(x.String(), y.String()) }
	slices.SortFunc(a.Left, byName)
	slices.SortFunc(a.Lost, byName)
	slices.SortFunc(a.Evict, byName)
	if len(forbidden) > 0 {
		slices.Sort(forbidden)
		return DrainAction{Failure: "pods that the drain must not or cannot evict: " + nameFirst(forbidden), Left: a.Left}
	}
	a.Done = len(a.Left) == 0
	return a
}

// DescribeGone tells that a node does not exist any more.
func DescribeGone(node string) string {
	return fmt.Sprintf("node %s is gone: somebody has deleted it from its cluster", node)
}

// whyNever returns why a pod can never be evicted, or "".
func (d *Drain) whyNever(p Pod, w Workload) string {
	if why := d.Options.forbids(p); why != "" {
		return why
	}
	if !p.Finished && !p.Pending && len(w.budgetsOf(p)) > 1 {
		return "two PodDisruptionBudgets match it"
	}
	switch e := d.answers[p.UID]; e.Kind {
	case TwoBudgetsRefused, EvictionInvalid:
		return e.Text
	case PodEvicted, BudgetRefused, PodGone, PodReplaced, EvictionForbidden, EvictionUnknown:
	}
	return ""
}

// Note notes the answer to an eviction. A pod that is being evicted is never evicted again.
func (d *Drain) Note(p Pod, e Eviction) {
	if d.evicted == nil {
		d.evicted, d.answers, d.returned = map[string]bool{}, map[string]Eviction{}, map[string]bool{}
	}
	switch e.Kind {
	case PodEvicted, PodGone:
		d.evicted[p.UID] = true
		delete(d.answers, p.UID)
		if e.Kind == PodEvicted && p.Owner != "" && d.arrivals[p.UID] == cameLater {
			d.returned[p.Owner] = true
		}
	case PodReplaced: // or it has changed meanwhile; a pod that is still listed is evicted again
		delete(d.answers, p.UID)
	case BudgetRefused, TwoBudgetsRefused, EvictionForbidden, EvictionUnknown, EvictionInvalid:
		d.answers[p.UID] = e
	}
}

// DescribeLeft names the pods that are left, and the reason for each. Pods with the same reason are together.
func (d *Drain) DescribeLeft(left []Pod) string {
	var reasons []string
	names := map[string][]string{}
	for _, p := range left {
		reason := d.describeWait(p)
		if names[reason] == nil {
			reasons = append(reasons, reason)
		}
		names[reason] = append(names[reason], p.String())
	}
	var groups []string
	for _, reason := range reasons {
		groups = append(groups, nameFirst(names[reason])+reason)
	}
	text := "pods are left: "
	if len(left) == 1 {
		text = "a pod is left: "
	}
	return text + nameFirst(groups)
}

// DescribeLost names the pods that a node that was not Ready has not ended.
func DescribeLost(node string, lost []Pod) string {
	var names []string
	for _, p := range lost {
		names = append(names, p.String())
	}
	return fmt.Sprintf("node %s was not Ready before, and its kubelet has not ended pods whose time to end is over: %s; the drain does not wait for them, and their containers may run until the host goes down", node, nameFirst(names))
}

// BudgetsThatHold returns the PodDisruptionBudgets that have refused evictions of pods, sorted, as NAMESPACE/NAME.
func (d *Drain) BudgetsThatHold(pods []Pod) []string {
	var names []string
	for _, p := range pods {
		if e := d.answers[p.UID]; e.Kind == BudgetRefused && e.Budget != "" && !d.evicted[p.UID] {
			names = append(names, p.Namespace+"/"+e.Budget)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (d *Drain) describeWait(p Pod) string {
	e := d.answers[p.UID]
	switch {
	case p.Terminating || d.evicted[p.UID]:
		return " (ending)"
	case e.Kind == BudgetRefused && e.Budget != "":
		return fmt.Sprintf(" (PodDisruptionBudget %s/%s: %s)", p.Namespace, e.Budget, e.Text)
	case e.Text != "":
		return " (" + e.Text + ")"
	case e.Problem != nil:
		return " (" + e.Problem.Cause + ")"
	}
	return ""
}

// nameFirst names the first few of a list.
func nameFirst(list []string) string {
	const most = 5
	if len(list) > most {
		return fmt.Sprintf("%s, and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}
