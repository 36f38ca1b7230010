package simulator

import (
	"slices"
	"strings"

	"holdfast/engine"
)

// The laws about the order within a pool.

// lawBatch checks that a run disrupts only hosts of the batch that it has announced.
func (b *Bastion) lawBatch(h *Host) {
	if !slices.Contains(b.followed.batch, h.Name) {
		b.reportViolation("%s is begun, and is not in the batch", h.Name)
	}
}

// poolQueue has the hosts of one pool that could join a batch.
type poolQueue struct {
	first *Host   // in the batch
	left  []*Host // not in the batch
}

// buildQueues notes the hosts that a batch leaves out although nothing visible keeps them from it.
// It ignores members of etcd clusters, which have more reasons to wait.
func (b *Bastion) buildQueues() {
	b.followed.queues = map[string]*poolQueue{}
	for _, h := range b.site.all {
		if h.isHeld() || h.host.Cluster != "" || !b.reports.plan[h.Name] {
			continue
		}
		t := b.followed.queues[h.host.Pool]
		if t == nil {
			t = &poolQueue{}
			b.followed.queues[h.host.Pool] = t
		}
		switch {
		case slices.Contains(b.followed.batch, h.Name):
			if t.first == nil || b.comesFirst(h, t.first) {
				t.first = h
			}
		case b.couldJoinBatch(h):
			t.left = append(t.left, h)
		}
	}
}

func (b *Bastion) couldJoinBatch(h *Host) bool {
	well := h.up && !h.cut && h.goes.IsZero() && h.returns.IsZero() && b.followed.reached[h.Name]
	return well && b.reports.clear[h.Name] && !b.reports.bad[h.Name] && !b.reports.failed[h.Name] &&
		!h.isPaused() && !b.followed.taken[h.Name] && !b.isSatisfied(h)
}

// lawTurn checks that within a zone, hosts follow the order of the pool; the zone of the host that
// comes first is next.
func (b *Bastion) lawTurn(h *Host) {
	t := b.followed.queues[h.host.Pool]
	if t == nil || h.host.Cluster != "" || t.first == nil {
		return
	}
	for _, o := range t.left {
		apart := b.site.hasSkewLimit(h.host.Pool) && o.runsIt() != h.runsIt()
		if apart || !b.comesFirst(o, h) || o.host.Zone != h.host.Zone && !b.comesFirst(o, t.first) {
			continue
		}
		b.reportViolation("%s of pool %s is begun before %s", h.Name, h.host.Pool, o.Name)
		return
	}
}

// comesFirst reports whether a host comes before another of its pool: hosts that failed last time
// first, then by zone, then by the order.
func (b *Bastion) comesFirst(h, o *Host) bool {
	p, _ := b.site.Inventory.Pool(h.host.Pool)
	order := p.Order
	if told, ok := b.asked.Orders[p.Name]; ok {
		order = told
	}
	if play := b.currentPlay(); play != nil && play.Order != "" {
		order = play.Order
	}
	mine, others := slices.Contains(b.asked.Retry, h.Name), slices.Contains(b.asked.Retry, o.Name)
	zones, hosts := strings.Compare(h.host.Zone, o.host.Zone), strings.Compare(h.Name, o.Name)
	switch order {
	case engine.InInventory, engine.ReverseInventory:
		zones, hosts = b.site.inventoryPosition(h, true)-b.site.inventoryPosition(o, true), b.site.inventoryPosition(h, false)-b.site.inventoryPosition(o, false)
	case engine.Shuffled:
		hosts = 0
	case engine.Sorted, engine.ReverseSorted: // by their names
	}
	if order == engine.ReverseSorted || order == engine.ReverseInventory {
		zones, hosts = -zones, -hosts
	}
	switch {
	case mine != others:
		return mine
	case h.host.Zone != o.host.Zone:
		return zones < 0
	}
	return hosts < 0
}

func (s *Site) inventoryPosition(h *Host, zone bool) int {
	return slices.IndexFunc(s.all, func(o *Host) bool {
		return o == h || zone && o.host.Pool == h.host.Pool && o.host.Zone == h.host.Zone
	})
}

func (s *Site) hasSkewLimit(pool string) bool {
	return slices.ContainsFunc(s.Inventory.Pools, func(p engine.Pool) bool {
		_, ok := s.skewLimit(pool, p.Name)
		return ok
	})
}
