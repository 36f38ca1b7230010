package voters

import (
	"maps"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// Watch counts the healthy voters of an etcd cluster. A sample can be minutes
// old when a host goes down. So a member that the run takes down counts as down
// from the order to reboot until the host answers again.
type Watch struct {
	Sample    event.Sample    // the last sample with voters, or the first sample if none has voters
	At        time.Time       // time of the sample
	down      map[string]bool // hosts whose member the run took down; for failed hosts, false until the next sample
	TakenDown []string        // hosts whose member the run took down at any time
}

// Watches has the watches of a run, by cluster.
type Watches map[string]*Watch

// AddEvent returns the watch that an event has changed, or nil.
func (all Watches) AddEvent(e event.Event) *Watch {
	w := all[e.Cluster]
	switch {
	case e.Type == event.HostFailed:
		return all.markUnknown(e.Host)
	case e.Cluster == "":
		return nil
	case w == nil:
		w = &Watch{down: map[string]bool{}}
		all[e.Cluster] = w
	}
	switch {
	case e.Type == event.EtcdSampled && e.Etcd != nil:
		w.addSample(*e.Etcd, e.Time)
	case takesMemberDown(e):
		w.down[e.Host] = true
		if !slices.Contains(w.TakenDown, e.Host) {
			w.TakenDown = append(w.TakenDown, e.Host)
		}
	case isMemberBack(e):
		delete(w.down, e.Host)
	default:
		return nil
	}
	return w
}

// markUnknown leaves it to the next sample whether the member of a failed host
// is down.
func (all Watches) markUnknown(host string) *Watch {
	for _, w := range all {
		if w.down[host] {
			w.down[host] = false
			return w
		}
	}
	return nil
}

func (w *Watch) addSample(s event.Sample, at time.Time) {
	if s.Voters == 0 && w.Sample.Voters > 0 {
		return
	}
	w.Sample, w.At = s, at
	for host, ordered := range w.down {
		if !ordered {
			delete(w.down, host)
		}
	}
}

// takesMemberDown reports whether the member of the host stops with this event.
// A refused order to reboot stops no member. An interrupted order may have
// stopped the member.
func takesMemberDown(e event.Event) bool {
	switch e.Kind {
	case engine.RebootStep:
		return e.Type == event.StepEnded && (e.Failure == nil || e.Failure.Kind == engine.StoppedFailure)
	case engine.DefragStep:
		return e.Type == event.StepStarted
	default:
		return false
	}
}

func isMemberBack(e event.Event) bool {
	return e.Type == event.StepEnded && (e.Kind == engine.EtcdStep && e.Failure == nil || e.Kind == engine.DefragStep)
}

// DownHosts returns the hosts whose members the run has taken down.
func (w *Watch) DownHosts() []string { return slices.Sorted(maps.Keys(w.down)) }

// HealthyVoters returns the number of healthy voters, without the voters that
// the run has taken down.
func (w *Watch) HealthyVoters() int {
	down := map[string]bool{}
	for _, host := range slices.Concat(w.Sample.Down, w.DownHosts()) {
		down[host] = true
	}
	return min(w.Sample.Healthy, max(0, w.Sample.Voters-len(down)))
}
