package input

import (
	"maps"
	"slices"
	"sync"
)

// Waits lists the operations that a signal cannot interrupt, such as a read
// from a disk that hangs. Its zero value is ready.
type Waits struct {
	mu   sync.Mutex
	last int
	m    map[int]string
}

// Begin adds a wait to the list. end removes the wait.
func (w *Waits) Begin(text string) (end func()) {
	if w == nil {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.m == nil {
		w.m = map[int]string{}
	}
	w.last++
	n := w.last
	w.m[n] = text
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.m, n)
	}
}

// List returns the waits, sorted and without duplicates.
func (w *Waits) List() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Compact(slices.Sorted(maps.Values(w.m)))
}
