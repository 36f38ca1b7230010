package planner

import (
	"slices"
	"time"

	"holdfast/engine"
)

// passedCanary is a matching host. As a canary, it has passed when its soak is
// over.
type passedCanary struct {
	host string
	at   time.Time // when it reached its desired state; zero: not known
}

// canarySeats returns how many hosts may still join the batch that is being picked: the limit of the pool if its canaries
// have passed, else those that are missing. findPoolBlocker makes the other hosts wait.
func (w *poolState) canarySeats() int {
	if w.passedCanaries >= w.canaries {
		return w.seats.limit
	}
	return w.canaries - w.passedCanaries - w.seats.inBatch
}

// countCanaries sets how many hosts must go first, which ones have passed, and the rest of their soak. The first hosts that
// matched are the canaries.
func (w *poolState) countCanaries(now time.Time, hosts int, proven []passedCanary) {
	w.passedCanaries = len(proven)
	if w.Canary == nil {
		return
	}
	w.canaries = w.Canary.Hosts.Of(hosts)
	slices.SortStableFunc(proven, func(a, b passedCanary) int { return a.at.Compare(b.at) })
	for _, p := range proven[:min(w.canaries, len(proven))] {
		w.firstCanaries = append(w.firstCanaries, p.host)
	}
	if w.passedCanaries < w.canaries || w.canaries == 0 {
		return
	}
	if last := proven[w.canaries-1].at; !last.IsZero() {
		w.soakLeft = min(w.Canary.Soak, max(0, w.Canary.Soak-engine.Duration(now.Sub(last))))
	}
}

// updatedAt returns the time at which the host reached its desired state, by the
// bastion's clock. It returns the zero time if this time is not known. If the
// time in the host's record is after the time of its clock, it is from the clock of
// a bastion; if that is not possible, updatedAt returns the start of this run.
func (in Input) updatedAt(h engine.Host, f engine.Facts) time.Time {
	if at, ok := in.Done[h.Name]; ok || f.Updated.IsZero() {
		return at
	}
	switch {
	case f.Updated.After(f.Clock) && f.Updated.After(in.Now):
		return in.Began
	case f.Updated.After(f.Clock):
		return f.Updated
	}
	return in.Now.Add(f.Updated.Sub(f.Clock))
}

// passesAsCanary reports whether a matching host can pass as a canary. If a play
// skips tasks on the host, the host passes only if this run carried out the other
// tasks there.
func (in Input) passesAsCanary(h engine.Host) bool {
	if _, done := in.Done[h.Name]; done || in.Play == nil {
		return true
	}
	return !slices.ContainsFunc(in.Play.Tasks, func(t engine.Task) bool { return t.Skip[h.Name] })
}
