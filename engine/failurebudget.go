package engine

// FailureBudget names a pool or a play whose failure budget is exceeded, so
// that no further batch may start. The zero value means that no failure budget
// is exceeded.
type FailureBudget struct {
	Pool string
	Play string // play with a failure budget of its own, for hosts of all pools
}

// String returns the pool or play with its kind: pool worker.
func (b FailureBudget) String() string {
	switch {
	case b.Play != "":
		return "play " + b.Play
	case b.Pool != "":
		return "pool " + b.Pool
	}
	return ""
}

// Covers reports whether a failure of the host counts in the budget.
func (b FailureBudget) Covers(h Host) bool {
	return b.Play != "" || b.Pool != "" && b.Pool == h.Pool
}
