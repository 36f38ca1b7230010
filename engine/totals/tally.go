// Package totals sums up over a run, for each host, the bytes that it fetched,
// how long its staging was slowed and its member was down, and the samples of
// etcd that failed.
//
// The package has no side effects. A run puts the sums into its last event.
package totals

import (
	"maps"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// Tally collects the figures from the events of a run. The zero value is ready
// to use.
type Tally struct {
	hosts    map[string]*hostTally
	clusters map[string]*event.ClusterTotals
}

type hostTally struct {
	event.HostTotals
	sent       int64           // bytes that the present step has fetched
	fetching   engine.Duration // duration of steps that fetched something
	rebooted   time.Time       // zero: the host answers
	memberDown time.Time       // zero: its member is up
}

// AddEvent adds an event of the run.
func (t *Tally) AddEvent(e event.Event) {
	switch {
	case e.Type == event.EtcdSampled && e.Etcd != nil:
		t.addSample(e.Cluster, *e.Etcd)
	case e.Host == "":
	case e.Type == event.StagingGoverned && e.Governor != nil:
		h := t.hostNamed(e.Host)
		h.Slowed += e.Governor.Slowed
		h.Paused += e.Governor.Paused
		h.Fixed += e.Governor.Fixed
	case e.Type == event.StepStarted || e.Type == event.StepProgress || e.Type == event.StepEnded:
		h := t.hostNamed(e.Host)
		if e.Cluster != "" {
			h.Cluster = e.Cluster
		}
		h.addTransfer(e)
		h.addOutage(e)
	}
}

func (t *Tally) addSample(cluster string, s event.Sample) {
	if t.clusters == nil {
		t.clusters = map[string]*event.ClusterTotals{}
	}
	c := t.clusters[cluster]
	if c == nil {
		c = &event.ClusterTotals{Cluster: cluster}
		t.clusters[cluster] = c
	}
	if s.Voters == 0 {
		c.Unanswered++
		return
	}
	c.Samples++
	for _, host := range s.Down {
		h := t.hostNamed(host)
		h.Cluster = cluster
		h.FailedProbes++
	}
}

func (t *Tally) hostNamed(name string) *hostTally {
	if t.hosts == nil {
		t.hosts = map[string]*hostTally{}
	}
	if t.hosts[name] == nil {
		t.hosts[name] = &hostTally{HostTotals: event.HostTotals{Host: name}}
	}
	return t.hosts[name]
}

// addTransfer adds the bytes of a step. Its progress has the bytes since the
// begin of the step.
func (h *hostTally) addTransfer(e event.Event) {
	if e.Type == event.StepStarted {
		h.sent = 0
	}
	if e.Progress != nil && e.Progress.Bytes > h.sent {
		h.Fetched += e.Progress.Bytes - h.sent
		h.sent = e.Progress.Bytes
	}
	if e.Type == event.StepEnded && h.sent > 0 {
		h.fetching += e.Took
	}
}

// addOutage adds the times from an order to reboot until the host answers, and
// until its member is back. A refused order takes nothing down. A member is
// down during a defragmentation, too.
func (h *hostTally) addOutage(e event.Event) {
	ended := e.Type == event.StepEnded
	switch {
	case e.Kind == engine.RebootStep && e.Type == event.StepStarted:
		h.rebooted, h.memberDown = e.Time, e.Time
	case e.Kind == engine.RebootStep && ended && e.Failure != nil && e.Failure.Kind != engine.StoppedFailure:
		h.rebooted, h.memberDown = time.Time{}, time.Time{}
	case e.Kind == engine.BootStep && ended && e.Failure == nil:
		h.Down += timeSince(&h.rebooted, e.Time)
	case e.Kind == engine.DefragStep && e.Type == event.StepStarted:
		h.memberDown = e.Time
	case e.Kind == engine.DefragStep && ended, e.Kind == engine.EtcdStep && ended && e.Failure == nil:
		h.MemberDown += timeSince(&h.memberDown, e.Time)
	}
}

// timeSince returns the time from then to now, and ends it.
func timeSince(then *time.Time, now time.Time) (took engine.Duration) {
	if !then.IsZero() {
		took = engine.Duration(now.Sub(*then))
	}
	*then = time.Time{}
	return took
}

// Hosts returns the totals of each host that has any, by name.
func (t *Tally) Hosts() (all []event.HostTotals) {
	for _, name := range slices.Sorted(maps.Keys(t.hosts)) {
		h := *t.hosts[name]
		if seconds := time.Duration(h.fetching).Seconds(); seconds > 0 {
			h.Rate = int64(float64(h.Fetched) / seconds)
		}
		if h.HostTotals != (event.HostTotals{Host: h.Host, Cluster: h.Cluster}) {
			all = append(all, h.HostTotals)
		}
	}
	return all
}

// Clusters returns the totals of each cluster that was sampled, by name.
func (t *Tally) Clusters() (all []event.ClusterTotals) {
	for _, name := range slices.Sorted(maps.Keys(t.clusters)) {
		all = append(all, *t.clusters[name])
	}
	return all
}
