package planner

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"holdfast/engine"
)

// place is where a host stands among those of its pool: what failed last time
// comes first, then zone by zone, then as the pool's order says.
type place struct {
	late bool // it did not fail last time
	zone int
	name string // by which hosts of a zone are sorted, unless nth tells
	nth  int
}

func (p place) compare(q place) int {
	if p.late != q.late {
		if q.late {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(p.zone, q.zone), cmp.Compare(p.nth, q.nth), cmp.Compare(p.name, q.name))
}

// places gives each host with work its place.
func places(in Input, x index, work []engine.HostPlan) map[string]place {
	position := make(map[string]int, len(in.Inventory.Hosts))
	for i, h := range in.Inventory.Hosts {
		position[h.Name] = i
	}
	zones := in.zones(x)
	out := make(map[string]place, len(work))
	for _, hp := range work {
		at := place{late: !hp.Retried, zone: zones[hp.Pool][hp.Zone], name: hp.Host}
		switch in.order(x.pools[hp.Pool]) {
		case engine.InInventory:
			at.nth = position[hp.Host]
		case engine.ReverseInventory:
			at.nth = -position[hp.Host]
		case engine.ReverseSorted:
			at.name = reversed(hp.Host)
		case engine.Shuffled:
			sum := sha256.Sum256([]byte(x.targets[hp.Pool] + "\n" + hp.Host))
			at.name = string(sum[:])
		case engine.Sorted: // by its name
		}
		out[hp.Host] = at
	}
	return out
}

// order is that of the play, else of the pool.
func (in Input) order(p engine.Pool) engine.Order {
	if in.Play != nil && in.Play.Order != "" {
		return in.Play.Order
	}
	return p.Order
}

// zones numbers the zones of each pool as they follow each other.
func (in Input) zones(x index) map[string]map[string]int {
	names := map[string][]string{}
	for _, h := range in.Inventory.Hosts {
		if !slices.Contains(names[h.Pool], h.Zone) {
			names[h.Pool] = append(names[h.Pool], h.Zone)
		}
	}
	numbers := map[string]map[string]int{}
	for pool, list := range names {
		o := in.order(x.pools[pool])
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

// reversed is a text that sorts before others where s sorts after theirs.
func reversed(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = 255 - b[i]
	}
	return string(append(b, 255))
}
