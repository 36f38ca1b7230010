package registries

import (
	"maps"
	"slices"
)

// preferences is a graph of names: each should come before its followers.
type preferences struct {
	followers map[string]map[string]bool
	leaders   map[string]map[string]bool
}

func (p preferences) addPreference(first, then string) {
	for _, name := range []string{first, then} {
		if p.followers[name] == nil {
			p.followers[name], p.leaders[name] = map[string]bool{}, map[string]bool{}
		}
	}
	p.followers[first][then], p.leaders[then][first] = true, true
}

// joinOrders joins several lists of mirrors into one list that keeps the order
// of each list, if all can be kept. The source comes last, where it need not
// be named, unless a list has it earlier.
func joinOrders(source string, lists [][]string) []string {
	p := preferences{map[string]map[string]bool{}, map[string]map[string]bool{}}
	for _, list := range lists {
		for i := range len(list) - 1 {
			p.addPreference(list[i], list[i+1])
		}
		if !slices.Contains(list, source) {
			p.addPreference(list[len(list)-1], source)
		}
	}
	order := p.sortNames()
	if order[len(order)-1] == source {
		order = order[:len(order)-1]
	}
	return order
}

// sortNames returns all names. Names that become free at the same time are sorted
// alphabetically. A circle is cut at the first name that is left.
func (p preferences) sortNames() []string {
	names := slices.Sorted(maps.Keys(p.followers))
	var free, order []string
	for _, name := range names {
		if len(p.leaders[name]) == 0 {
			free = append(free, name)
		}
	}
	done := map[string]bool{}
	for len(order) < len(names) {
		if len(free) == 0 {
			free = []string{names[slices.IndexFunc(names, func(n string) bool { return !done[n] })]}
		}
		name := free[0]
		free, order, done[name] = free[1:], append(order, name), true
		for _, follower := range slices.Sorted(maps.Keys(p.followers[name])) {
			delete(p.leaders[follower], name)
			if len(p.leaders[follower]) == 0 && !done[follower] {
				free = append(free, follower)
			}
		}
	}
	return order
}
