package laws

import (
	"slices"
	"strings"
	"time"

	"holdfast/engine"
)

// This file has the laws about the nodes of Kubernetes clusters.

// Node is the node of a host in a Kubernetes cluster, at one moment.
type Node struct {
	Cluster string
	Name    string
	Host    *Host // nil: the node is no host of the site

	Ready            bool
	Maintained       time.Time // since when a NodeMaintenance names it; zero: none does
	Cordoned         bool
	Uncordoned       time.Time // when a person, or a new registration, uncordoned it last
	CordonedByPerson bool      // a person was the last to cordon it
	CordonedByRun    bool

	LeaseHolder  string // "": nobody has its lease
	LeaseRenewed time.Time
	LeaseEnds    time.Time

	Pods []Pod
}

// Pod is a pod on a node.
type Pod struct {
	Name     string
	UID      string
	App      string    // the value of its label app
	Bound    time.Time // since when it is on the node
	Stays    bool      // a DaemonSet or the kubelet runs it
	NoMaker  bool      // no controller makes it again
	EmptyDir bool
	Ready    bool
	Ending   bool
	Guarded  bool // it has a budget
	Needs    int  // pods of its app that must be healthy
}

func (w *Observer) findNode(h *Host) *Node {
	if i := slices.IndexFunc(w.Nodes, func(n *Node) bool { return n.Host == h }); i >= 0 {
		return w.Nodes[i]
	}
	return nil
}

// isNodeAbsent reports whether the node of the host takes no work.
func (w *Observer) isNodeAbsent(h *Host) bool {
	n := w.findNode(h)
	return n != nil && (!n.Ready || n.Cordoned || w.isNodeForeign(h))
}

// isNodeNotReady reports whether the pods of the host count as lost.
func (w *Observer) isNodeNotReady(h *Host) bool {
	n := w.findNode(h)
	return n != nil && !n.Ready
}

// isNodeForeign reports whether another tool or a NodeMaintenance has the node of the host.
func (w *Observer) isNodeForeign(h *Host) bool {
	n := w.findNode(h)
	return n != nil && (!n.Maintained.IsZero() || w.isLeasedByOther(n))
}

// isLeasedByOther reports whether another tool has a valid lease of the node.
func (w *Observer) isLeasedByOther(n *Node) bool {
	const clockError = time.Minute
	return n.LeaseHolder != "" && !isRunLease(n.LeaseHolder) && w.Now.Before(n.LeaseEnds) && !n.LeaseRenewed.After(w.Now.Add(clockError))
}

// checkForeignNode checks that a run begins no host whose node another tool or a NodeMaintenance has, as far as the run could know.
func (r *Run) checkForeignNode(h *Host) {
	n := r.observer.findNode(h)
	if n == nil {
		return
	}
	looked := r.gathered["kubernetes "+n.Cluster]
	switch {
	case r.observer.isLeasedByOther(n) && !wasUnseen(n.LeaseRenewed, looked):
		r.reportViolation("%s is begun, and %s has the lease of its node", h.Name, n.LeaseHolder)
	case !n.Maintained.IsZero() && !wasUnseen(n.Maintained, looked):
		r.reportViolation("%s is begun, and a NodeMaintenance names its node", h.Name)
	}
}

// SeeNodes records that the run gathers facts of a Kubernetes cluster.
func (r *Run) SeeNodes(cluster string) { r.gathered["kubernetes "+cluster] = r.observer.Now }

// MissNodes records that the API of a Kubernetes cluster does not answer the run.
func (r *Run) MissNodes(cluster string) { r.missed["kubernetes "+cluster] = r.observer.Now }

// SeeNode records that the run reads a node.
func (r *Run) SeeNode(n *Node) { r.seen["node "+n.Cluster+" "+n.Name] = r.observer.Now }

// SeePods records that the run reads the pods of a node.
func (r *Run) SeePods(n *Node) { r.seen["pods of "+n.Cluster+" "+n.Name] = r.observer.Now }

// drainOptions returns the options of the drain of the host through the API, or nil if it has none.
func (w *Observer) drainOptions(h *Host) *engine.KubernetesDrain {
	if d := w.poolOf(h).Drain; d != nil {
		return d.Kubernetes
	}
	return nil
}

// checkNodeWork checks that the run works on the node of a host that it holds.
func (r *Run) checkNodeWork(n *Node, what string) bool {
	if n.Host == nil {
		r.reportViolation("node %s is %s, and is no host of the run", n.Name, what)
		return false
	}
	r.CheckOwn(n.Host, what)
	return true
}

// CheckCordon checks that a run cordons only a node that it holds and drains.
func (r *Run) CheckCordon(n *Node) {
	if r.checkNodeWork(n, "cordoned") {
		r.CheckDrain(n.Host)
	}
}

// CheckUncordon checks that a run ends only the cordon of a run.
func (r *Run) CheckUncordon(n *Node) {
	r.checkNodeWork(n, "uncordoned")
	if n.CordonedByPerson {
		r.reportViolation("node %s is uncordoned, and a person had cordoned it", n.Name)
	}
}

// CheckTakeLease checks that a run takes no valid lease of another tool.
func (r *Run) CheckTakeLease(n *Node) {
	r.checkNodeWork(n, "leased")
	if r.observer.isLeasedByOther(n) {
		r.reportViolation("the lease of node %s is taken from %s, which had it until %s", n.Name, n.LeaseHolder, n.LeaseEnds.UTC().Format(time.TimeOnly))
	}
}

func isRunLease(holder string) bool { return strings.HasPrefix(holder, "holdfast-") }

// CheckReleaseLease checks that a run releases only leases of runs, of hosts that it holds.
func (r *Run) CheckReleaseLease(n *Node) {
	r.checkNodeWork(n, "released from its lease")
	if !isRunLease(n.LeaseHolder) {
		r.reportViolation("the lease of node %s is released, and %s has it", n.Name, n.LeaseHolder)
	}
}

// CheckEviction checks that a run evicts only pods of a node that it holds, drains and has cordoned, as far as it could know; no pod that stays, or that the drain may
// not evict; and none whose budget would fall below its minimum.
func (r *Run) CheckEviction(n *Node, uid string) {
	i := slices.IndexFunc(n.Pods, func(p Pod) bool { return p.UID == uid })
	if i < 0 || !r.checkNodeWork(n, "drained") {
		return
	}
	p := n.Pods[i]
	r.CheckDrain(n.Host)
	o := r.observer.drainOptions(n.Host)
	switch {
	case !n.Cordoned && (n.Uncordoned.IsZero() || !wasUnseen(n.Uncordoned, r.seen["node "+n.Cluster+" "+n.Name])):
		r.reportViolation("pod %s is evicted from node %s, which is not cordoned", p.Name, n.Name)
	case o == nil || p.Stays || !selects(o.PodSelector, p):
		r.reportViolation("pod %s is evicted from node %s, and stays on it in a drain", p.Name, n.Name)
	case p.NoMaker && !o.Force:
		r.reportViolation("pod %s is evicted without force, and nothing makes it again", p.Name)
	case p.EmptyDir && !o.DeleteEmptydirData:
		r.reportViolation("pod %s is evicted, and loses its data", p.Name)
	case p.Guarded && p.Ready && !p.Ending && r.observer.countHealthy(n.Cluster, p.App)-1 < p.Needs:
		r.reportViolation("pod %s is evicted, and the budget of %s falls below its minimum of %d", p.Name, p.App, p.Needs)
	}
}

func (w *Observer) countHealthy(cluster, app string) (healthy int) {
	for _, n := range w.Nodes {
		for _, p := range n.Pods {
			if n.Cluster == cluster && p.App == app && p.Ready && !p.Ending {
				healthy++
			}
		}
	}
	return healthy
}

// selects reports whether a selector of the form app!=NAME selects a pod.
func selects(selector string, p Pod) bool {
	name, excludes := strings.CutPrefix(selector, "app!=")
	return !excludes || p.App != name
}

// checkPodsLeft checks that no pod that the drain should have evicted, and that the run could know, is on a host that reboots, or that gets a
// change that needs a drain.
func (r *Run) checkPodsLeft(h *Host) {
	n, o := r.observer.findNode(h), r.observer.drainOptions(h)
	if n == nil || o == nil || o.OnTimeout == engine.ContinueOnTimeout {
		return
	}
	if _, missed := r.missed["kubernetes "+n.Cluster]; missed && o.WhenUnreachable == engine.SkipUnreachable {
		return
	}
	looked := r.seen["pods of "+n.Cluster+" "+n.Name]
	for _, p := range n.Pods {
		if !p.Stays && selects(o.PodSelector, p) && !wasUnseen(p.Bound, looked) {
			r.reportViolation("%s is disrupted with pod %s on it", h.Name, p.Name)
		}
	}
	if looked.IsZero() {
		r.reportViolation("%s is disrupted, and the run has not looked at its pods", h.Name)
	}
}

// checkCordoned checks that the node of a host is still cordoned, or once more, when the host goes down after it has come back:
// the scheduler gives an uncordoned node other pods. A person may uncordon it at any time.
func (r *Run) checkCordoned(h *Host) {
	n, o := r.observer.findNode(h), r.observer.drainOptions(h)
	if n == nil || o == nil || n.Cordoned || !n.Uncordoned.IsZero() {
		return
	}
	if _, missed := r.missed["kubernetes "+n.Cluster]; missed && o.WhenUnreachable == engine.SkipUnreachable {
		return
	}
	r.reportViolation("%s is rolled back, and its node is not cordoned", h.Name)
}

// checkNodeLeft checks that a host that is released is left neither cordoned nor leased by a run.
func (r *Run) checkNodeLeft(h *Host) {
	n := r.observer.findNode(h)
	switch {
	case n == nil:
	case n.CordonedByRun:
		r.reportViolation("%s is released while its node is cordoned by a run", h.Name)
	case isRunLease(n.LeaseHolder):
		r.reportViolation("%s is released while %s has the lease of its node", h.Name, n.LeaseHolder)
	}
}

// sharesBudget reports whether pods of the host and of a host in the batch have one budget, which may keep the host out of the batch.
func (r *Run) sharesBudget(h *Host) bool {
	n := r.observer.findNode(h)
	if n == nil {
		return false
	}
	return slices.ContainsFunc(r.observer.Nodes, func(o *Node) bool {
		return o.Cluster == n.Cluster && o != n && o.Host != nil && slices.Contains(r.followed.batch, o.Host.Name) && shareGuardedApp(n, o)
	})
}

func shareGuardedApp(n, o *Node) bool {
	return slices.ContainsFunc(n.Pods, func(p Pod) bool {
		return p.Guarded && slices.ContainsFunc(o.Pods, func(q Pod) bool { return q.App == p.App })
	})
}
