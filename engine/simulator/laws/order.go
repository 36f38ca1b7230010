package laws

import (
	"slices"
	"strings"

	"holdfast/engine"
)

// This file has the laws about the order within a pool.

func (r *Run) checkBatch(h *Host) {
	if !slices.Contains(r.followed.batch, h.Name) {
		r.reportViolation("%s is begun, and is not in the batch", h.Name)
	}
}

// poolQueue has the hosts of one pool that could join a batch.
type poolQueue struct {
	first *Host   // the first host in the batch
	left  []*Host // hosts that are not in the batch
}

// buildQueues collects the hosts that a batch leaves out without a visible
// reason. It ignores members of etcd clusters, which have more reasons to wait.
func (r *Run) buildQueues() {
	r.followed.queues, r.followed.absent, r.followed.notReady = map[string]*poolQueue{}, map[string]bool{}, map[string]bool{}
	for _, h := range r.observer.Hosts {
		r.followed.absent[h.Name], r.followed.notReady[h.Name] = r.observer.isNodeAbsent(h), r.observer.isNodeNotReady(h)
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
		case r.couldJoinBatch(h) && !r.waitsForLogin(h) && !r.followed.absent[h.Name] && !r.sharesBudget(h):
			t.left = append(t.left, h)
		}
	}
}

func (r *Run) couldJoinBatch(h *Host) bool {
	well := h.Up && !h.Cut && !h.GoesDown && !h.Returns && r.followed.reached[h.Name]
	return well && r.reports.clear[h.Name] && !r.reports.bad[h.Name] && !r.reports.failed[h.Name] &&
		!r.observer.isPaused(h) && !r.followed.taken[h.Name] && !r.isSatisfied(h)
}

// waitsForLogin reports whether the host gets a setting that may prevent logins, and
// another host of the batch proves first that a login still works, because no host with
// that setting matches. Hosts with other changes may go before it.
func (r *Run) waitsForLogin(h *Host) bool {
	if !h.Setting.Login || h.Setting.Wanted == nil {
		return false
	}
	tried, proved := false, false
	for _, o := range r.observer.Hosts {
		if o.Pool == h.Pool && o != h {
			tried = tried || o.Setting.Login && slices.Contains(r.followed.batch, o.Name)
			same := o.Setting.Wanted != nil && *o.Setting.Wanted == *h.Setting.Wanted
			proved = proved || same && r.isSatisfied(o) && r.reports.clear[o.Name] && !o.isHeld()
		}
	}
	return tried && !proved
}

// checkTurn checks that the hosts of a zone follow the order of the pool, and
// that the next zone is the zone of the first waiting host.
func (r *Run) checkTurn(h *Host) {
	t := r.followed.queues[h.Pool]
	if t == nil || h.Cluster != "" || t.first == nil || r.followed.absent[h.Name] { // a host whose node takes no work costs no further seat
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

// comesFirst reports whether host h comes before host o of its pool. Hosts that
// failed in the previous run come first; then zone and order decide.
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
	case engine.Sorted, engine.ReverseSorted: // the names decide
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
