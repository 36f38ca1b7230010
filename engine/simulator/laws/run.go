package laws

import (
	"time"

	"holdfast/engine"
)

// Run is a run, as its site sees it.
type Run struct {
	ID string

	observer *Observer
	alive    func() bool
	begun    map[string]begunStep // the step of each host that was journaled last, if it has not ended
	seen     map[string]time.Time // when the run last gathered each host
	missed   map[string]time.Time // when it last found each host unreachable
	gathered map[string]time.Time // when it last gathered each cluster
	took     map[string]time.Time // when it took the hold of each host
	reports  runReports
	followed followed
	asked    *Asked
	best     bool
	retries  bool
}

type begunStep struct {
	name string
	kind engine.StepKind
}

// Asked has the options of a run that laws depend on.
type Asked struct {
	Over  bool          // another OS may follow an unfinished roll-out
	Retry []string      // hosts that failed last time
	Plays []engine.Play // their hosts fields are lists of pools, separated by commas

	Orders map[string]engine.Order // of pools, in place of the inventory's
}

// NewRun adds a run. The function alive reports whether it has begun and not ended.
func (w *Observer) NewRun(id string, alive func() bool) *Run {
	r := &Run{
		ID: id, observer: w, alive: alive, begun: map[string]begunStep{},
		seen: map[string]time.Time{}, missed: map[string]time.Time{}, gathered: map[string]time.Time{}, took: map[string]time.Time{},
		reports: newRunReports(), followed: newFollowed(), asked: &Asked{},
	}
	w.runs = append(w.runs, r)
	return r
}

// Begin notes the options of the run: with best effort, other hosts of a pool begin although some have failed; with retries,
// hosts try an OS again that they rejected.
func (r *Run) Begin(asked *Asked, bestEffort, retries bool) {
	r.asked, r.best, r.retries = asked, bestEffort, retries
}

// See notes that the run gathers the host.
func (r *Run) See(h *Host) { r.seen[h.Name] = r.observer.Now }

// Miss notes that the run finds the host unreachable.
func (r *Run) Miss(host string) { r.missed[host] = r.observer.Now }

// SeeCluster notes that the run gathers the cluster.
func (r *Run) SeeCluster(name string) { r.gathered[name] = r.observer.Now }

// Take notes that the run takes the hold of the host.
func (r *Run) Take(h *Host) { r.took[h.Name] = r.observer.Now }

// Emit notes an event of the run's journal, and checks the whole site.
func (r *Run) Emit(e engine.Event) {
	switch e.Type {
	case engine.StepStarted:
		r.begun[e.Host] = begunStep{e.Step, e.Kind}
	case engine.StepEnded:
		delete(r.begun, e.Host)
	default: // other events are no steps
	}
	r.followEvent(e)
	r.keepReport(e)
	r.checkState()
}
