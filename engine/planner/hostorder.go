package planner

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"holdfast/engine"
)

// turn is the part of its pool to which a host belongs. The parts follow each other.
type turn int

const (
	failedTurn turn = iota // failed in the last run
	plainTurn
	failedHeldTurn // failed, and has been held since: it must not keep other held hosts drained
)

// sortKey orders the hosts of a pool: turn by turn, then zone by zone, then in the pool's order.
type sortKey struct {
	turn turn
	zone int
	name string // sorts the hosts of a zone with equal nth
	nth  int
}

func (p sortKey) compare(q sortKey) int {
	return cmp.Or(cmp.Compare(p.turn, q.turn), cmp.Compare(p.zone, q.zone), cmp.Compare(p.nth, q.nth), cmp.Compare(p.name, q.name))
}

func newSortKeys(in Input, x index, work []engine.HostPlan) map[string]sortKey {
	position := make(map[string]int, len(in.Inventory.Hosts))
	for i, h := range in.Inventory.Hosts {
		position[h.Name] = i
	}
	zones := in.numberZones(x)
	out := make(map[string]sortKey, len(work))
	for _, hp := range work {
		at := sortKey{turn: turnOf(in, hp), zone: zones[hp.Pool][hp.Zone], name: hp.Host}
		switch in.orderOf(x.pools[hp.Pool]) {
		case engine.InInventory:
			at.nth = position[hp.Host]
		case engine.ReverseInventory:
			at.nth = -position[hp.Host]
		case engine.ReverseSorted:
			at.name = invertForSort(hp.Host)
		case engine.Shuffled:
			sum := sha256.Sum256([]byte(x.targets[hp.Pool] + "\n" + hp.Host))
			at.name = string(sum[:])
		case engine.Sorted: // the name sorts the hosts
		}
		out[hp.Host] = at
	}
	return out
}

func turnOf(in Input, hp engine.HostPlan) turn {
	st, retried := in.view().JudgeFacts(in.Facts[hp.Host]), slices.Contains(in.Retry, hp.Host)
	switch {
	case hp.Adopt != "" && st.Hold != nil && (retried || st.HasFailed()):
		return failedHeldTurn
	case retried:
		return failedTurn
	}
	return plainTurn
}

func (in Input) orderOf(p engine.Pool) engine.Order {
	if in.Play != nil && in.Play.Order != "" {
		return in.Play.Order
	}
	return p.Order
}

func (in Input) numberZones(x index) map[string]map[string]int {
	names := map[string][]string{}
	for _, h := range in.Inventory.Hosts {
		if !slices.Contains(names[h.Pool], h.Zone) {
			names[h.Pool] = append(names[h.Pool], h.Zone)
		}
	}
	numbers := map[string]map[string]int{}
	for pool, list := range names {
		o := in.orderOf(x.pools[pool])
		if o != engine.InInventory && o != engine.ReverseInventory {
			slices.Sort(list)
		}
		if o == engine.ReverseSorted || o == engine.ReverseInventory {
			slices.Reverse(list)
		}
		numbers[pool] = map[string]int{}
		for i, z := range list {
			numbers[pool][z] = i
		}
	}
	return numbers
}

func invertForSort(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = 255 - b[i]
	}
	return string(append(b, 255))
}
