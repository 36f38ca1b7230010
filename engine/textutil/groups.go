package textutil

import "iter"

// Groups collects values by key, in the order in which the keys first appear.
// The zero value is empty.
type Groups[K comparable, V any] struct {
	keys   []K
	values map[K][]V
}

// Add adds values to the group of a key. Without values it only makes the group.
func (g *Groups[K, V]) Add(key K, values ...V) {
	if g.values == nil {
		g.values = map[K][]V{}
	}
	if _, known := g.values[key]; !known {
		g.keys = append(g.keys, key)
	}
	g.values[key] = append(g.values[key], values...)
}

// Keys returns the key of each group.
func (g *Groups[K, V]) Keys() []K { return g.keys }

// Of returns the values of a key.
func (g *Groups[K, V]) Of(key K) []V { return g.values[key] }

// All returns each key with its values.
func (g *Groups[K, V]) All() iter.Seq2[K, []V] {
	return func(yield func(K, []V) bool) {
		for _, k := range g.keys {
			if !yield(k, g.values[k]) {
				return
			}
		}
	}
}
