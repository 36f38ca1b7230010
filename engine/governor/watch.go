package governor

import (
	"time"

	"holdfast/engine"
)

// Counters are the histograms of one member: either all observations until a
// moment, or the observations of a period.
type Counters interface {
	// Since returns the observations after earlier counters of the same member.
	Since(earlier Counters) Counters
	// Plus returns the observations of both Counters.
	Plus(other Counters) Counters
	// Latency estimates the p99 of the observations. If the latency without the
	// given number of slowest observations is lower, Latency returns that one.
	Latency(host string, exceptional int) engine.LatencyPoint
	// IdleLatency is like Latency for observations of a time in which nothing was
	// staged: it also leaves out an observation that Latency always counts, because
	// one slow moment must not raise the limits.
	IdleLatency(host string, exceptional int) engine.LatencyPoint
}

// The number of slowest observations that do not count, because any busy
// machine has slow moments. In a few hundred observations, the p99 is about the
// slowest of them. In LongTime, 1 % of the observations is more than these
// numbers, so that the p99 itself decides.
const (
	maxExceptionalInWindow = 5 // in Reading.Window
	maxExceptional         = 3 // in Reading.Recent and Reading.Long
	maxExceptionalIdle     = 2 // in IdleLatency, so that a few observations do not raise the limits; from 200 on the p99 itself decides
)

// IdleLatency returns the latency of a member that may raise its limits.
func IdleLatency(host string, observed Counters) engine.LatencyPoint {
	return observed.IdleLatency(host, maxExceptionalIdle)
}

// Scrape is the answer of one member.
type Scrape struct {
	Host     string
	Counters Counters  // nil: the member did not answer
	Began    time.Time // the counters are not older; zero: the time at which they are added
	Problem  string    // why the member did not answer
}

// Watch follows the disk latency of the members of a cluster during one staging.
type Watch struct {
	idle    map[string]Counters
	members []*memberWatch
}

type memberWatch struct {
	host   string
	idle   []Counters // observations of its newest pauses and of the time before the staging, oldest first
	first  Counters
	latest stampedCounters   // at is not later than the counters
	recent []stampedCounters // counters of LongTime and the counters before them, oldest first
	worst  engine.LatencyPoint
	at     time.Time
}

type stampedCounters struct {
	at time.Time
	Counters
}

// NewWatch begins a watch. idle has the observations of each member before the
// staging, if they are known.
func NewWatch(idle map[string]Counters) *Watch { return &Watch{idle: idle} }

// AddScrapes adds one scrape of each member and returns the readings. The first
// scrape of a member has no earlier one to compare with, so its reading is
// missing. Nothing has been staged since idleSince, which is zero while the host
// is staged. If that is before the previous counters of a member, its new
// observations show the idle latency.
func (w *Watch) AddScrapes(now time.Time, scrapes []Scrape, idleSince time.Time) []Reading {
	readings := make([]Reading, 0, len(scrapes))
	for _, s := range scrapes {
		readings = append(readings, w.memberNamed(s.Host).addScrape(now, s, idleSince))
	}
	return readings
}

func (w *Watch) memberNamed(host string) *memberWatch {
	for _, m := range w.members {
		if m.host == host {
			return m
		}
	}
	m := &memberWatch{host: host}
	if idle := w.idle[host]; idle != nil {
		m.idle = []Counters{idle}
	}
	w.members = append(w.members, m)
	return m
}

func (m *memberWatch) addScrape(now time.Time, s Scrape, idleSince time.Time) Reading {
	reading := Reading{Host: s.Host, Missing: true}
	if s.Counters == nil {
		return reading
	}
	if m.first == nil {
		m.first = s.Counters
	}
	if m.latest.Counters != nil && !idleSince.IsZero() && !m.latest.at.Before(idleSince) {
		m.addIdle(s.Counters.Since(m.latest.Counters))
	}
	m.latest = stampedCounters{s.Began, s.Counters}
	if s.Began.IsZero() {
		m.latest.at = now
	}
	if len(m.recent) > 0 {
		reading.Missing = false
		reading.Recent = s.Counters.Since(m.countersBefore(now.Add(-RecentTime)).Counters).Latency(m.host, maxExceptional)
		window := s.Counters.Since(m.countersBefore(now.Add(-WindowTime)).Counters)
		reading.Window = window.Latency(m.host, maxExceptionalInWindow)
		reading.Long = s.Counters.Since(m.recent[0].Counters).Latency(m.host, maxExceptional)
		reading.Idle = m.idleLatency()
		reading.Full = window.Latency(m.host, 0)
		m.noteWorst(now, reading.Full)
	}
	m.recent = append(m.recent, stampedCounters{now, s.Counters})
	for len(m.recent) > 1 && !m.recent[1].at.After(now.Add(-LongTime)) {
		m.recent = m.recent[1:]
	}
	return reading
}

// noteWorst notes the worst window. The first windows are shorter than WindowTime,
// and a slow moment has more weight in them. So the next one, which has all their
// observations, replaces each of them.
func (m *memberWatch) noteWorst(now time.Time, window engine.LatencyPoint) {
	if m.worst.Window == 0 || now.Sub(m.recent[0].at) <= WindowTime || window.Severity() > m.worst.Severity() {
		m.worst, m.at = window, now.Add(-time.Duration(window.Window))
	}
}

// addIdle drops observations beyond longIdleTime, because other programs on the machine may start or end.
func (m *memberWatch) addIdle(observed Counters) {
	m.idle = append(m.idle, observed)
	m.idle = m.newestIdle(longIdleTime)
}

// newestIdle returns the newest idle observations that together cover that time.
func (m *memberWatch) newestIdle(covered time.Duration) []Counters {
	var kept time.Duration
	for i := len(m.idle) - 1; i >= 0; i-- {
		if kept >= covered {
			return m.idle[i+1:]
		}
		kept += time.Duration(m.idle[i].Latency(m.host, 0).Window)
	}
	return m.idle
}

// idleLatency returns the latency over idleTime, with the p99 over longIdleTime
// where this is lower: idleTime has only some hundred observations, so that its
// p99 rises by chance. A load that stays raises both within a minute of pauses.
func (m *memberWatch) idleLatency() engine.LatencyPoint {
	if len(m.idle) == 0 {
		return engine.LatencyPoint{}
	}
	idle, long := IdleLatency(m.host, sumOf(m.newestIdle(idleTime))), IdleLatency(m.host, sumOf(m.idle))
	idle.WALFsyncP99Seconds = min(idle.WALFsyncP99Seconds, long.WALFsyncP99Seconds)
	idle.BackendCommitP99Seconds = min(idle.BackendCommitP99Seconds, long.BackendCommitP99Seconds)
	return idle
}

func sumOf(all []Counters) Counters {
	sum := all[0]
	for _, more := range all[1:] {
		sum = sum.Plus(more)
	}
	return sum
}

// countersBefore returns the oldest counters if none were scraped at that time or before.
func (m *memberWatch) countersBefore(at time.Time) stampedCounters {
	found := m.recent[0]
	for _, s := range m.recent {
		if !s.at.After(at) {
			found = s
		}
	}
	return found
}

// Report returns the latency of every member that has answered: idle, during
// the staging, and in its worst window.
func (w *Watch) Report() []engine.MemberGoverned {
	var report []engine.MemberGoverned
	for _, m := range w.members {
		if m.first == nil || m.worst.Window == 0 {
			continue
		}
		governed := engine.MemberGoverned{Host: m.host, Staging: m.latest.Counters.Since(m.first).Latency(m.host, 0), Worst: m.worst, WorstAt: m.at}
		if idle := w.idle[m.host]; idle != nil {
			governed.Idle = idle.Latency(m.host, 0)
		}
		report = append(report, governed)
	}
	return report
}
