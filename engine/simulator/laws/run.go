package laws

import (
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// Run is a run, with everything that the laws need to know about it.
type Run struct {
	ID string

	observer *Observer
	alive    func() bool
	begun    map[string]begunStep // the last journaled step of each host, if the step has not ended
	seen     map[string]time.Time // when the run last gathered facts of each host
	missed   map[string]time.Time // when the run last found each host unreachable
	gathered map[string]time.Time // when the run last gathered facts of each cluster
	took     map[string]time.Time // when the run took the hold of each host
	reports  runReports
	followed followed
	asked    *Asked
	best     bool
	retries  bool

	resetsTold map[string]bool // hosts of which the journal has that they are about to be reset
	resets     map[string]bool // hosts that the run has reset
}

type begunStep struct {
	name string
	kind engine.StepKind

	reboot engine.RebootKind // in the step that orders a reboot
}

// Asked has the options of a run on which laws depend.
type Asked struct {
	Over  bool          // another OS may follow an unfinished roll-out
	Full  bool          // each reboot is a full one
	Retry []string      // hosts that failed in the previous run
	Plays []engine.Play // plays whose Hosts are lists of pools, separated by commas

	Orders map[string]engine.Order // orders of pools, in place of those in the inventory
}

// NewRun adds a run. alive reports whether the run has begun and has not ended.
func (w *Observer) NewRun(id string, alive func() bool) *Run {
	r := &Run{
		ID: id, observer: w, alive: alive, begun: map[string]begunStep{},
		seen: map[string]time.Time{}, missed: map[string]time.Time{}, gathered: map[string]time.Time{}, took: map[string]time.Time{},
		reports: newRunReports(), followed: newFollowed(), asked: &Asked{},
		resetsTold: map[string]bool{}, resets: map[string]bool{},
	}
	w.runs = append(w.runs, r)
	return r
}

// Begin sets the options of the run. With bestEffort, other hosts of a pool may
// begin after a failure. With retries, hosts try an OS again that they
// rejected.
func (r *Run) Begin(asked *Asked, bestEffort, retries bool) {
	r.asked, r.best, r.retries = asked, bestEffort, retries
}

// See records that the run gathers facts of the host.
func (r *Run) See(h *Host) { r.seen[h.Name] = r.observer.Now }

// Miss records that the run finds the host unreachable.
func (r *Run) Miss(host string) { r.missed[host] = r.observer.Now }

// SeeCluster records that the run gathers facts of the cluster.
func (r *Run) SeeCluster(name string) { r.gathered[name] = r.observer.Now }

// Take records that the run takes the hold of the host.
func (r *Run) Take(h *Host) {
	r.took[h.Name] = r.observer.Now
	r.noteUnits(h)
}

// Emit records an event of the run's journal, and checks the whole site.
func (r *Run) Emit(e event.Event) {
	switch e.Type {
	case event.StepStarted:
		r.begun[e.Host] = begunStep{name: e.Step, kind: e.Kind}
		if e.Reboot != nil {
			r.begun[e.Host] = begunStep{e.Step, e.Kind, e.Reboot.Kind}
		}
	case event.StepEnded:
		delete(r.begun, e.Host)
	default: // other events are not about steps
	}
	r.followEvent(e)
	r.followReboot(e)
	r.followReset(e)
	r.keepReport(e)
	r.checkState()
}
