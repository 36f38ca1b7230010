package totals

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// latencies collects the disk latencies of etcd members over a run: idle, while hosts were staged, and in the worst
// window. The zero value is ready to use.
type latencies struct {
	members map[memberKey]*event.MemberLatency

	disturbed          time.Time // begin of the first staging or batch; zero: none has begun
	stageBegan, staged time.Time // begin and end of the last staging; staged is zero during a staging
}

type memberKey struct{ cluster, host string }

func (t *latencies) addEvent(e event.Event) {
	switch {
	case e.Type == event.StageStarted:
		t.stageBegan, t.staged = e.Time, time.Time{}
		t.noteDisturbance(e.Time)
	case e.Type == event.StageEnded:
		t.staged = e.Time
	case e.Type == event.BatchStarted:
		t.noteDisturbance(e.Time)
	case e.Type == event.StagingGoverned && e.Governor != nil:
		for _, m := range e.Governor.Members {
			t.addGoverned(e.Cluster, m)
		}
	case e.Type == event.EtcdSampled && e.Etcd != nil:
		for _, p := range e.Etcd.Latency {
			t.addPoint(e.Cluster, p, e.Time)
		}
	}
}

func (t *latencies) noteDisturbance(at time.Time) {
	if t.disturbed.IsZero() {
		t.disturbed = at
	}
}

// addPoint adds the latency of a window that ended at that time. A window that
// overlaps a staging belongs to the staging.
func (t *latencies) addPoint(cluster string, p engine.LatencyPoint, at time.Time) {
	if p.Severity() == 0 { // nothing was observed
		return
	}
	m := t.memberNamed(cluster, p.Host)
	if m.Worst == nil || p.Severity() > m.Worst.Severity() {
		m.Worst, m.WorstAt = &p, at
	}
	began := at.Add(-time.Duration(p.Window))
	switch {
	case t.disturbed.IsZero():
		if m.Idle == nil || p.Window >= m.Idle.Window {
			m.Idle = &p
		}
	case !t.stageBegan.IsZero() && (t.staged.IsZero() || began.Before(t.staged)):
		if m.Staging == nil || p.Severity() > m.Staging.Severity() {
			m.Staging = &p
		}
	}
}

// addGoverned adds the report of the governor, which samples more often than
// the run. The window of its idle latency is directly before the first staging.
func (t *latencies) addGoverned(cluster string, g engine.MemberGoverned) {
	m := t.memberNamed(cluster, g.Host)
	if g.Idle.Severity() > 0 {
		m.Idle = &g.Idle
	}
	if m.Staging == nil || g.Worst.Severity() > m.Staging.Severity() {
		m.Staging = &g.Worst
	}
	if m.Worst == nil || g.Worst.Severity() > m.Worst.Severity() {
		m.Worst, m.WorstAt = &g.Worst, g.WorstAt.Add(time.Duration(g.Worst.Window))
	}
}

func (t *latencies) memberNamed(cluster, host string) *event.MemberLatency {
	k := memberKey{cluster, host}
	if t.members == nil {
		t.members = map[memberKey]*event.MemberLatency{}
	}
	if t.members[k] == nil {
		t.members[k] = &event.MemberLatency{Cluster: cluster, Host: host}
	}
	return t.members[k]
}

// list returns the latencies of all members, by cluster and host.
func (t *latencies) list() []event.MemberLatency {
	var all []event.MemberLatency
	for _, k := range slices.SortedFunc(maps.Keys(t.members), func(a, b memberKey) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.host, b.host))
	}) {
		all = append(all, *t.members[k])
	}
	return all
}
