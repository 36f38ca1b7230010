package laws

import (
	"slices"
	"strings"

	"holdfast/engine"
)

// The laws about the order within a pool.

// checkBatch checks that a run disrupts only hosts of the batch that it has announced.
func (r *Run) checkBatch(h *Host) {
	if !slices.Contains(r.followed.batch, h.Name) {
		r.reportViolation("%s is begun, and is not in the batch", h.Name)
	}
}

// poolQueue has the hosts of one pool that could join a batch.
type poolQueue struct {
	first *Host   // in the batch
	left  []*Host // not in the batch
}

// buildQueues notes the hosts that a batch leaves out although nothing visible keeps them from it.
// It ignores members of etcd clusters, which have more reasons to wait.
func (r *Run) buildQueues() {
	r.followed.queues = map[string]*poolQueue{}
	for _, h := range r.observer.Hosts {
		if h.isHeld() || h.Cluster != "" || !r.reports.plan[h.Name] {
			continue
		}
		t := r.followed.queues[h.Pool]
		if t == nil {
			t = &poolQueue{}
			r.followed.queues[h.Pool] = t
		}
		switch {
		case slices.Contains(r.followed.batch, h.Name):
			if t.first == nil || r.comesFirst(h, t.first) {
				t.first = h
			}
		case r.couldJoinBatch(h):
			t.left = append(t.left, h)
		}
	}
}

func (r *Run) couldJoinBatch(h *Host) bool {
	well := h.Up && !h.Cut && !h.GoesDown && !h.Returns && r.followed.reached[h.Name]
	return well && r.reports.clear[h.Name] && !r.reports.bad[h.Name] && !r.reports.failed[h.Name] &&
		!r.observer.isPaused(h) && !r.followed.taken[h.Name] && !r.isSatisfied(h)
}

// checkTurn checks that within a zone, hosts follow the order of the pool; the zone of the host that
// comes first is next.
func (r *Run) checkTurn(h *Host) {
	t := r.followed.queues[h.Pool]
	if t == nil || h.Cluster != "" || t.first == nil {
		return
	}
	for _, o := range t.left {
		apart := r.observer.hasSkewLimit(h.Pool) && r.observer.runsDesiredOS(o) != r.observer.runsDesiredOS(h)
		if apart || !r.comesFirst(o, h) || o.Zone != h.Zone && !r.comesFirst(o, t.first) {
			continue
		}
		r.reportViolation("%s of pool %s is begun before %s", h.Name, h.Pool, o.Name)
		return
	}
}

// comesFirst reports whether a host comes before another of its pool: hosts that failed last time
// first, then by zone, then by the order.
func (r *Run) comesFirst(h, o *Host) bool {
	p := r.observer.poolOf(h)
	order := p.Order
	if told, ok := r.asked.Orders[p.Name]; ok {
		order = told
	}
	if play := r.currentPlay(); play != nil && play.Order != "" {
		order = play.Order
	}
	mine, others := slices.Contains(r.asked.Retry, h.Name), slices.Contains(r.asked.Retry, o.Name)
	zones, hosts := strings.Compare(h.Zone, o.Zone), strings.Compare(h.Name, o.Name)
	switch order {
	case engine.InInventory, engine.ReverseInventory:
		zones, hosts = r.observer.inventoryPosition(h, true)-r.observer.inventoryPosition(o, true), r.observer.inventoryPosition(h, false)-r.observer.inventoryPosition(o, false)
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
	case h.Zone != o.Zone:
		return zones < 0
	}
	return hosts < 0
}

func (w *Observer) inventoryPosition(h *Host, zone bool) int {
	return slices.IndexFunc(w.Hosts, func(o *Host) bool {
		return o == h || zone && o.Pool == h.Pool && o.Zone == h.Zone
	})
}

func (w *Observer) hasSkewLimit(pool string) bool {
	return slices.ContainsFunc(w.Inventory.Pools, func(p engine.Pool) bool {
		_, ok := w.skewLimit(pool, p.Name)
		return ok
	})
}
