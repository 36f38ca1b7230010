package laws

// checkState checks the whole site after each journaled event, because a run
// must keep the laws at every moment. Events that a host causes itself break no
// law. After the first violation, checkState checks nothing.
func (r *Run) checkState() {
	if r.observer.broken {
		return
	}
	pools, clusters, all := map[string]int{}, map[string]int{}, 0
	for _, h := range r.observer.Hosts {
		r.checkWayIn(h)
		if !h.isDisrupted() {
			continue
		}
		if !h.isHeld() && !h.Freed && (h.Drained || h.GoesDown) {
			r.reportViolation("%s is nobody's, and drained or going down", h.Name)
		}
		if h.Cluster != "" {
			clusters[h.Cluster]++
		}
		if h.disruptedBy == r.ID && !h.wasNotReady {
			pools[h.Pool]++
			all++
		}
	}
	if len(clusters) == 0 && all <= 1 {
		return
	}
	for _, c := range r.observer.Clusters {
		if n := clusters[c.Name]; n > 1 {
			r.reportViolation("%d members of cluster %s are disrupted", n, c.Name)
		}
	}
	for _, p := range r.observer.Inventory.Pools {
		if n := pools[p.Name]; n > 1 && n > p.MaxUnavailable.Of(r.observer.poolSize(p.Name)) {
			r.reportViolation("%d hosts of pool %s are disrupted", n, p.Name)
		}
	}
	if limit, ok := r.observer.siteBudget(); ok && all > limit {
		r.reportViolation("%d hosts of the site are disrupted, its budget is %d", all, limit)
	}
}
