package planner

import (
	"fmt"
	"slices"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
	"holdfast/engine/textutil"
)

// drainRoom keeps hosts out of a batch whose drains would wait for each other: the pods of two hosts have one PodDisruptionBudget, and it does
// not allow all of their evictions. The first host of a batch always has room, so that each host gets its turn.
type drainRoom struct {
	claims   map[string][]kubefacts.Claim // by host: evictions that its drain needs
	clusters map[string]string            // Kubernetes clusters of these hosts
	taken    map[claimed]int              // evictions that the hosts of the batch need
	kept     textutil.Groups[string, string]
	told     map[string]bool
}

// claimed is a budget of a Kubernetes cluster.
type claimed struct{ cluster, budget string }

func (s Survey) newDrainRoom() *drainRoom {
	r := &drainRoom{claims: map[string][]kubefacts.Claim{}, clusters: map[string]string{}, told: map[string]bool{}}
	r.reset()
	if s.in.Workloads == nil {
		return r
	}
	back := map[claimed]bool{} // pods of the budget come back
	for _, hp := range s.result.work {
		if n, drains := s.nodeToDrain(hp); drains {
			r.clusters[hp.Host], r.claims[hp.Host] = n.Kubernetes, s.in.Workloads[n.Kubernetes].Claims(n.Node, drainOptions(*s.index.pools[hp.Pool].Drain))
			for _, c := range r.claims[hp.Host] {
				back[claimed{n.Kubernetes, c.Budget}] = back[claimed{n.Kubernetes, c.Budget}] || c.ComesBack
			}
		}
	}
	for _, hp := range s.result.work {
		if r.claims[hp.Host] != nil && s.sharesBudgets(hp) {
			r.claims[hp.Host] = slices.DeleteFunc(r.claims[hp.Host], func(c kubefacts.Claim) bool { return !back[claimed{r.clusters[hp.Host], c.Budget}] })
		}
	}
	return r
}

// sharesBudgets reports whether the pool of a host lets its drains wait for each other. This does not count for budgets of
// pods that come back to a cordoned node: their evictions take turns, and then they go down together with their hosts.
func (s Survey) sharesBudgets(hp engine.HostPlan) bool {
	k := s.index.pools[hp.Pool].Drain.Kubernetes
	return k != nil && k.ShareBudgets
}

func (r *drainRoom) reset() { r.taken = map[claimed]int{} }

// findBlocker returns why the drain of the host does not fit into the batch, or "".
func (r *drainRoom) findBlocker(hp *engine.HostPlan) string {
	for _, c := range r.claims[hp.Host] {
		key := claimed{r.clusters[hp.Host], c.Budget}
		if taken := r.taken[key]; taken > 0 && taken+c.Pods > c.Allowed {
			evictions := fmt.Sprintf("%d evictions", c.Allowed)
			if c.Allowed == 1 {
				evictions = "1 eviction"
			}
			why := fmt.Sprintf("PodDisruptionBudget %s of Kubernetes cluster %s allows %s now, and its pods are also on other hosts of the batch", c.Budget, key.cluster, evictions)
			if !r.told[hp.Host] {
				r.told[hp.Host] = true
				r.kept.Add(why, hp.Host)
			}
			return why
		}
	}
	return ""
}

func (r *drainRoom) add(hp *engine.HostPlan) {
	for _, c := range r.claims[hp.Host] {
		r.taken[claimed{r.clusters[hp.Host], c.Budget}] += c.Pods
	}
}

// listWarnings tells which hosts are in a later batch than budgets of hosts would allow.
func (r *drainRoom) listWarnings() (list []string) {
	for why, hosts := range r.kept.All() {
		list = append(list, nameHosts(hosts)+": in a later batch: "+why)
	}
	return list
}
