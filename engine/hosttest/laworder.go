package hosttest

import (
	"slices"
	"strings"

	"holdfast/engine"
)

// The law about whose turn it is within a pool.

// lawBatch: what a run begins to disrupt is in the batch that it has said to begin.
func (b *Bastion) lawBatch(h *Host) {
	if !slices.Contains(b.followed.batch, h.Name) {
		b.reportViolation("%s is begun, and is not in the batch", h.Name)
	}
}

// poolQueue is the queue before a batch, of one pool: who could go in it as well as
// those who do.
type poolQueue struct {
	first *Host   // in the batch
	left  []*Host // out of it
}

// buildQueues keeps who is left out of the batch that begins, although nothing is to
// be seen that keeps them from going. It is about hosts that a run begins to
// disrupt; members of etcd clusters have their reasons, and so have hosts that
// boot another OS where others do not, if there is a limit on versions.
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

// couldJoinBatch reports whether the host has something to be done to it that disrupts
// it, and nothing is to be seen against that.
func (b *Bastion) couldJoinBatch(h *Host) bool {
	well := h.up && !h.cut && h.goes.IsZero() && h.returns.IsZero() && b.followed.reached[h.Name]
	return well && b.reports.clear[h.Name] && !b.reports.bad[h.Name] && !b.reports.failed[h.Name] &&
		!h.isPaused() && !b.followed.taken[h.Name] && !b.isSatisfied(h)
}

// lawTurn: of a zone, no host goes before another whose turn it is; and the zone
// that goes is that of the host whose turn it is first.
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

// comesFirst reports whether a host comes before another of its pool: who failed last
// time, then zone by zone, then as the order says.
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

// inventoryPosition is where the host stands in the inventory, or the first of its pool
// and zone.
func (s *Site) inventoryPosition(h *Host, zone bool) int {
	return slices.IndexFunc(s.all, func(o *Host) bool {
		return o == h || zone && o.host.Pool == h.host.Pool && o.host.Zone == h.host.Zone
	})
}

// hasSkewLimit reports whether versions of the pool are.
func (s *Site) hasSkewLimit(pool string) bool {
	return slices.ContainsFunc(s.Inventory.Pools, func(p engine.Pool) bool {
		_, ok := s.skewLimit(pool, p.Name)
		return ok
	})
}
