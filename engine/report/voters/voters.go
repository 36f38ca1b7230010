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
// from the order to reboot until the host answers again. A member that runs on during a reboot is not down, and a sample
// that cannot reach it tells nothing about it.
type Watch struct {
	Sample    event.Sample    // the last sample with voters, or the first sample if none has voters; unseen members count as healthy
	At        time.Time       // time of the sample
	down      map[string]bool // hosts whose member the run took down; for failed hosts, false until the next sample
	TakenDown []string        // hosts whose member the run took down at any time
	runsOn    map[string]bool // hosts whose member runs on during their reboot; once it answers, false until the next sample
	Unseen    []string        // hosts whose member a sample could not reach at any time, because it ran on during a reboot
	returned  map[string]bool // hosts whose member has come back after the last sample, which the next sample may not have seen
	Silence   Silence
}

// Silence has the samples that no member of a cluster answered, although the run had not taken down or rebooted all of them.
type Silence struct {
	Since       time.Time // the first such sample after the last answer; zero: the last sample was answered, or a member has come back since
	First, Last time.Time // the first and the last such sample
	Samples     int
}

// FormatSpan returns the times of the samples, such as "between 08:00:10 and 08:00:40".
func (s Silence) FormatSpan(format func(time.Time) string) string {
	if s.First.Equal(s.Last) {
		return "at " + format(s.Last)
	}
	return "between " + format(s.First) + " and " + format(s.Last)
}

// Watches has the watches of a run, by cluster.
type Watches map[string]*Watch

// AddEvent returns the watch that an event has changed, or nil.
func (all Watches) AddEvent(e event.Event) *Watch {
	w := all[e.Cluster]
	switch {
	case e.Type == event.HostFailed:
		return all.markUnknown(e.Host)
	case e.Type == event.Warned && e.Reboot != nil:
		return all.takeDownAfterAll(e.Host)
	case e.Cluster == "":
		return nil
	case w == nil:
		w = &Watch{down: map[string]bool{}, runsOn: map[string]bool{}, returned: map[string]bool{}}
		all[e.Cluster] = w
	}
	switch {
	case e.Type == event.EtcdSampled && e.Etcd != nil:
		w.addSample(*e.Etcd, e.Time)
	case takesMemberDown(e) && e.Reboot.RunsMember():
		w.runsOn[e.Host] = true
	case takesMemberDown(e):
		w.takeDown(e.Host)
	case isMemberBack(e):
		delete(w.down, e.Host)
		w.returned[e.Host] = true
		if e.Failure == nil {
			w.Silence.Since = time.Time{} // a member has answered; after the last step of the cluster there are no samples
		}
		if w.runsOn[e.Host] {
			w.runsOn[e.Host] = false // the next sample may have begun before
		}
	default:
		return nil
	}
	return w
}

// markUnknown leaves it to the next sample whether the member of a failed host
// is down.
func (all Watches) markUnknown(host string) *Watch {
	for _, w := range all {
		delete(w.runsOn, host)
		if w.down[host] {
			w.down[host] = false
			return w
		}
	}
	return nil
}

// takeDownAfterAll counts the member of a host as down that has rebooted in full although a soft reboot was ordered.
func (all Watches) takeDownAfterAll(host string) *Watch {
	for _, w := range all {
		if _, runsOn := w.runsOn[host]; runsOn {
			w.takeDown(host)
			return w
		}
	}
	return nil
}

func (w *Watch) takeDown(host string) {
	delete(w.runsOn, host)
	w.down[host] = true
	if !slices.Contains(w.TakenDown, host) {
		w.TakenDown = append(w.TakenDown, host)
	}
}

func (w *Watch) addSample(s event.Sample, at time.Time) {
	w.addAnswer(s, at)
	if s.Voters == 0 && w.Sample.Voters > 0 {
		return
	}
	w.Sample, w.At = w.withoutUnseen(s), at
	for host, rebooting := range w.runsOn {
		if !rebooting {
			delete(w.runsOn, host)
		}
	}
	for host, ordered := range w.down {
		if !ordered {
			delete(w.down, host)
		}
	}
}

// addAnswer notes whether any member has answered a sample.
func (w *Watch) addAnswer(s event.Sample, at time.Time) {
	excused := map[string]bool{} // hosts whose members need not answer
	for _, hosts := range []map[string]bool{w.down, w.runsOn, w.returned} {
		maps.Copy(excused, hosts)
	}
	clear(w.returned)
	switch n := &w.Silence; {
	case s.Voters > 0:
		n.Since = time.Time{}
	case w.Sample.Voters == 0 || len(excused) < w.Sample.Voters:
		if n.Samples++; n.Samples == 1 {
			n.First = at
		}
		if n.Last = at; n.Since.IsZero() {
			n.Since = at
		}
	}
}

// withoutUnseen returns the sample as if the members that run on during a reboot had answered it as before.
func (w *Watch) withoutUnseen(s event.Sample) event.Sample {
	var down []string
	for _, host := range s.UnhealthyHosts {
		if _, runsOn := w.runsOn[host]; !runsOn {
			down = append(down, host)
			continue
		}
		s.Healthy++
		if !slices.Contains(w.Unseen, host) {
			w.Unseen = append(w.Unseen, host)
		}
		if s.Leader == "" && w.Sample.Leader == host {
			s.Leader = host
		}
	}
	s.UnhealthyHosts = down
	return s
}

// takesMemberDown reports whether the member of the host stops with this event.
// A refused order to reboot stops no member. An interrupted order may have
// stopped the member.
func takesMemberDown(e event.Event) bool {
	switch e.Kind {
	case engine.RebootStep:
		return e.Type == event.StepEnded && (e.Failure == nil || e.Failure.Kind == engine.StoppedFailure)
	case engine.DefragStep, engine.RestartStep:
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
	for _, host := range slices.Concat(w.Sample.UnhealthyHosts, w.DownHosts()) {
		down[host] = true
	}
	return min(w.Sample.Healthy, max(0, w.Sample.Voters-len(down)))
}
