package report

import (
	"slices"
	"time"

	"holdfast/engine"
)

// etcdWatch tracks the healthy voters of an etcd cluster. A sample can be minutes old when a host goes down,
// so a member that the run takes down counts as down from the order to reboot until it answers again.
type etcdWatch struct {
	sample    engine.Sample   // the last with voters, or the first if none has any
	at        time.Time       // time of the sample
	down      map[string]bool // hosts whose member the run took down; false until the next sample for failed hosts
	takenDown []string        // hosts whose member the run took down at any time
}

// etcdWatches holds the watches of a run, by cluster.
type etcdWatches map[string]*etcdWatch

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

// markUnknown leaves it to the next sample whether the member of a failed host is down.
func (all etcdWatches) markUnknown(host string) *etcdWatch {
	for _, w := range all {
		if w.down[host] {
			w.down[host] = false
			return w
		}
	}
	return nil
}

// addSample stores a sample. A sample without voters does not replace one that has some.
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

// takesMemberDown reports whether the member of the host stops answering with this event. A refused order to
// reboot takes nothing down; an interrupted one may have.
func takesMemberDown(e engine.Event) bool {
	switch e.Kind {
	case engine.RebootStep:
		return e.Type == engine.StepEnded && (e.Failure == nil || e.Failure.Kind == engine.StoppedFailure)
	case engine.DefragStep:
		return e.Type == engine.StepStarted
	}
	return false
}

func isMemberBack(e engine.Event) bool {
	return e.Type == engine.StepEnded && (e.Kind == engine.EtcdStep && e.Failure == nil || e.Kind == engine.DefragStep)
}

func (w *etcdWatch) downHosts() []string { return sortedKeys(w.down) }

func (w *etcdWatch) healthyVoters() int {
	down := map[string]bool{}
	for _, host := range slices.Concat(w.sample.Down, w.downHosts()) {
		down[host] = true
	}
	return min(w.sample.Healthy, max(0, w.sample.Voters-len(down)))
}
