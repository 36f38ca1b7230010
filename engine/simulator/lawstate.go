package simulator

import "time"

// lawState checks the whole site once an event is journaled, because a run must keep the laws at
// any moment. Events that a host causes itself break no law. After the first violation it checks
// nothing.
func (b *Bastion) lawState(now time.Time) {
	if len(b.site.violations) > 0 {
		return
	}
	pools, clusters, all := map[string]int{}, map[string]int{}, 0
	for _, h := range b.site.all {
		if !h.isDisrupted(now) {
			continue
		}
		if !h.isHeld() && !h.freed && (h.drained || !h.goes.IsZero()) {
			b.reportViolation("%s is nobody's, and drained or going down", h.Name)
		}
		if h.host.Cluster != "" {
			clusters[h.host.Cluster]++
		}
		if h.rolledBy == b.ID {
			pools[h.host.Pool]++
			all++
		}
	}
	if len(clusters) == 0 && all <= 1 {
		return
	}
	for _, c := range b.site.etcd {
		if n := clusters[c.name]; n > 1 {
			b.reportViolation("%d members of cluster %s are disrupted", n, c.name)
		}
	}
	for _, p := range b.site.Inventory.Pools {
		if n := pools[p.Name]; n > 1 && n > p.MaxUnavailable.Of(b.site.poolSize(p.Name)) {
			b.reportViolation("%d hosts of pool %s are disrupted", n, p.Name)
		}
	}
	if limit, ok := b.site.siteBudget(); ok && all > limit {
		b.reportViolation("%d hosts of the site are disrupted, its budget is %d", all, limit)
	}
}

func (s *Site) poolSize(pool string) int {
	n := 0
	for _, h := range s.all {
		if h.host.Pool == pool {
			n++
		}
	}
	return n
}

func (s *Site) siteBudget() (n int, ok bool) {
	l := s.Inventory.MaxUnavailable
	return l.Of(len(s.all)), l.Set
}
