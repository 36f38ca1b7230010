package report

import (
	"slices"
	"time"

	"holdfast/engine"
)

// etcdWatch follows how many voters of an etcd cluster are healthy. A sample is
// minutes old when a host goes down; what the run itself takes down is down from
// the order until its member was seen back.
type etcdWatch struct {
	sample    engine.Sample   // the last that knew the voters, or the first that did not
	at        time.Time       // of it
	down      map[string]bool // hosts whose member the run took down; false: the next sample tells what became of it
	takenDown []string        // hosts whose member the run took down at any time
}

// etcdWatches are those of a run, by cluster.
type etcdWatches map[string]*etcdWatch

// addEvent takes an event, and returns the watch that it changed, or nil.
func (all etcdWatches) addEvent(e engine.Event) *etcdWatch {
	w := all[e.Cluster]
	switch {
	case e.Type == engine.HostFailed:
		return all.markUnknown(e.Host)
	case e.Cluster == "":
		return nil
	case w == nil:
		w = &etcdWatch{down: map[string]bool{}}
		all[e.Cluster] = w
	}
	switch {
	case e.Type == engine.EtcdSampled && e.Etcd != nil:
		w.addSample(*e.Etcd, e.Time)
	case takesMemberDown(e):
		w.down[e.Host] = true
		if !slices.Contains(w.takenDown, e.Host) {
			w.takenDown = append(w.takenDown, e.Host)
		}
	case isMemberBack(e):
		delete(w.down, e.Host)
	default:
		return nil
	}
	return w
}

// markUnknown leaves it to the next sample what became of the member of a host.
func (all etcdWatches) markUnknown(host string) *etcdWatch {
	for _, w := range all {
		if w.down[host] {
			w.down[host] = false
			return w
		}
	}
	return nil
}

// addSample takes a sample. One in which nothing is known of the voters leaves the
// last one that did as it was.
func (w *etcdWatch) addSample(s engine.Sample, at time.Time) {
	if s.Voters == 0 && w.sample.Voters > 0 {
		return
	}
	w.sample, w.at = s, at
	for host, ordered := range w.down {
		if !ordered {
			delete(w.down, host)
		}
	}
}

// takesMemberDown reports whether the member of the event's host stops answering with
// it. An order to reboot that was refused takes nothing down; of one that was
// cut short nobody knows.
func takesMemberDown(e engine.Event) bool {
	switch e.Kind {
	case engine.RebootStep:
		return e.Type == engine.StepEnded && (e.Failure == nil || e.Failure.Kind == engine.StoppedFailure)
	case engine.DefragStep:
		return e.Type == engine.StepStarted
	}
	return false
}

// isMemberBack reports whether the member of the event's host was seen to be there.
func isMemberBack(e engine.Event) bool {
	return e.Type == engine.StepEnded && (e.Kind == engine.EtcdStep && e.Failure == nil || e.Kind == engine.DefragStep)
}

// downHosts returns the hosts whose member the run took down and has not seen back.
func (w *etcdWatch) downHosts() []string { return sortedKeys(w.down) }

// healthyVoters returns how many voters are healthy, as far as is known.
func (w *etcdWatch) healthyVoters() int {
	gone := map[string]bool{}
	for _, host := range slices.Concat(w.sample.Down, w.downHosts()) {
		gone[host] = true
	}
	return min(w.sample.Healthy, max(0, w.sample.Voters-len(gone)))
}
