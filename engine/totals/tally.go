// Package totals sums up over a run, for each host, the bytes that it fetched,
// how long its staging was slowed and its member was down, and the samples of
// etcd that failed. It also summarizes the disk latencies of etcd members.
//
// The package has no side effects. A run puts the sums into its last event, and
// views show only these.
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
	latencies
	times times
}

type hostTally struct {
	event.HostTotals
	stepAgain       int64           // bytes that the present step was sent again
	stepBytes       int64           // bytes that the present step has fetched
	fetchTime       engine.Duration // duration of steps that fetched something
	held            bool            // its hold was taken
	runsOn          bool            // its member runs on during the reboot that was ordered
	answers         bool            // that member has answered since, but the next sample may have begun before
	downSince       time.Time       // zero: the host answers
	memberDownSince time.Time       // zero: its member is up
}

// AddEvent adds an event of the run.
func (t *Tally) AddEvent(e event.Event) {
	switch {
	case e.Type == event.EtcdSampled && e.Etcd != nil:
		t.addSample(e.Cluster, *e.Etcd)
	case e.Host == "":
	case e.Type == event.Warned && e.Reboot != nil:
		t.hostNamed(e.Host).stopMemberAfterAll()
	case e.Type == event.StagingGoverned && e.Governor != nil:
		h := t.hostNamed(e.Host)
		h.SlowedFor += e.Governor.SlowedFor
		h.PausedFor += e.Governor.PausedFor
		h.FixedFor += e.Governor.FixedFor
	case e.Type == event.StepStarted || e.Type == event.StepProgress || e.Type == event.StepEnded:
		h := t.hostNamed(e.Host)
		if e.Cluster != "" {
			h.Cluster = e.Cluster
		}
		h.held = h.held || e.Kind == engine.HoldStep && e.Type == event.StepEnded && e.Failure == nil
		h.addTransfer(e)
		h.addOutage(e)
	}
	t.latencies.addEvent(e)
	t.times.addEvent(e)
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
	for _, host := range s.UnhealthyHosts {
		h := t.hostNamed(host)
		if h.runsOn { // it was not seen
			continue
		}
		h.Cluster = cluster
		h.FailedProbes++
	}
	for _, h := range t.hosts {
		if h.Cluster == cluster && h.answers {
			h.runsOn, h.answers = false, false
		}
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
		h.stepBytes, h.stepAgain = 0, 0
	}
	if e.Progress != nil && e.Progress.Bytes > h.stepBytes {
		h.FetchedBytes += e.Progress.Bytes - h.stepBytes
		h.stepBytes = e.Progress.Bytes
	}
	if e.Progress != nil && e.Progress.AgainBytes > h.stepAgain {
		h.FetchedAgainBytes += e.Progress.AgainBytes - h.stepAgain
		h.stepAgain = e.Progress.AgainBytes
	}
	if e.Type == event.StepEnded && h.stepBytes > 0 {
		h.fetchTime += e.Took
	}
}

// addOutage adds the times from an order to reboot until the host answers, and
// until its member is back. If an earlier run ordered the reboot, the times
// begin when this run waits for the host. A refused order takes nothing down. A
// member is down during a defragmentation and a restart of services that have survived a soft reboot, too. A member that
// runs on during a reboot is not down.
func (h *hostTally) addOutage(e event.Event) {
	ended := e.Type == event.StepEnded
	switch {
	case e.Kind == engine.RebootStep && e.Type == event.StepStarted && e.Reboot.RunsMember():
		h.runsOn, h.answers = true, false
		beginAt(&h.downSince, e.Time)
	case e.Kind == engine.BootStep && e.Type == event.StepStarted && h.runsOn:
	case (e.Kind == engine.RebootStep || e.Kind == engine.BootStep) && e.Type == event.StepStarted:
		beginAt(&h.downSince, e.Time)
		beginAt(&h.memberDownSince, e.Time)
	case e.Kind == engine.RebootStep && ended && e.Failure != nil:
		h.downSince, h.memberDownSince, h.runsOn = time.Time{}, time.Time{}, false
	case e.Kind == engine.BootStep && ended && e.Failure == nil:
		h.DownFor += endAt(&h.downSince, e.Time)
	case (e.Kind == engine.DefragStep || e.Kind == engine.RestartStep) && e.Type == event.StepStarted:
		h.runsOn, h.answers = false, false
		beginAt(&h.memberDownSince, e.Time)
	case e.Kind == engine.DefragStep && ended, e.Kind == engine.EtcdStep && ended && e.Failure == nil:
		h.MemberDownFor += endAt(&h.memberDownSince, e.Time)
		h.answers = h.runsOn
	}
}

// stopMemberAfterAll begins the outage of the member of a host that has rebooted in full although a soft reboot was ordered.
func (h *hostTally) stopMemberAfterAll() {
	if h.runsOn {
		h.runsOn, h.memberDownSince = false, h.downSince
	}
}

// beginAt sets the start of an outage that has not begun.
func beginAt(begin *time.Time, now time.Time) {
	if begin.IsZero() {
		*begin = now
	}
}

// endAt ends an outage, and returns its duration: 0 if none has begun.
func endAt(begin *time.Time, now time.Time) (lasted engine.Duration) {
	if !begin.IsZero() {
		lasted = engine.Duration(max(now.Sub(*begin), 0))
	}
	*begin = time.Time{}
	return lasted
}

// AddTo adds the sums to the end of the run.
func (t *Tally) AddTo(end *event.RunEnd) {
	end.Latency, end.Hosts, end.Clusters = t.latencies.list(), t.listHosts(), t.listClusters()
	end.Times, end.BatchGap = t.times.list(), t.times.meanGap()
	for _, h := range t.hosts {
		if h.held {
			end.HoldsTaken++
		}
	}
}

// listHosts returns the totals of each host that has any, by name.
func (t *Tally) listHosts() (all []event.HostTotals) {
	for _, name := range slices.Sorted(maps.Keys(t.hosts)) {
		h := t.hosts[name]
		sums := h.HostTotals
		if seconds := time.Duration(h.fetchTime).Seconds(); seconds > 0 {
			sums.BytesPerSecond = int64(float64(h.FetchedBytes) / seconds)
		}
		sums.NotBack = !h.downSince.IsZero()
		if sums != (event.HostTotals{Host: name, Cluster: h.Cluster}) {
			all = append(all, sums)
		}
	}
	return all
}

// listClusters returns the totals of each cluster that was sampled, by name.
func (t *Tally) listClusters() (all []event.ClusterTotals) {
	for _, name := range slices.Sorted(maps.Keys(t.clusters)) {
		all = append(all, *t.clusters[name])
	}
	return all
}
