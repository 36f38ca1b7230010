package governor

import (
	"time"

	"holdfast/engine"
)

// Counters are the histograms of one member at one moment.
type Counters interface {
	// P99Since estimates the p99 of the disk latencies since earlier counters of the same member.
	P99Since(earlier Counters, host string) engine.LatencyPoint
}

// Scrape is the answer of one member.
type Scrape struct {
	Host     string
	Counters Counters // nil: the member did not answer
	Problem  string   // why not
}

// Watch follows the disk latency of the members of a cluster during one staging.
type Watch struct {
	idle    map[string]engine.LatencyPoint
	members []*memberWatch
}

type memberWatch struct {
	host   string
	first  Counters
	latest Counters
	recent []stamped // of the last WindowTime, and one before, oldest first
	worst  engine.LatencyPoint
	at     time.Time
}

type stamped struct {
	at time.Time
	Counters
}

// NewWatch begins to watch. idle has the latency of each member before, as far as it is known.
func NewWatch(idle map[string]engine.LatencyPoint) *Watch { return &Watch{idle: idle} }

// AddScrapes takes one scrape of each member and returns the readings. The first scrapes of a member have nothing to be
// compared with.
func (w *Watch) AddScrapes(now time.Time, scrapes []Scrape) []Reading {
	readings := make([]Reading, 0, len(scrapes))
	for _, s := range scrapes {
		readings = append(readings, w.member(s.Host).add(now, s))
	}
	return readings
}

func (w *Watch) member(host string) *memberWatch {
	for _, m := range w.members {
		if m.host == host {
			return m
		}
	}
	m := &memberWatch{host: host}
	w.members = append(w.members, m)
	return m
}

func (m *memberWatch) add(now time.Time, s Scrape) Reading {
	reading := Reading{Host: s.Host, Missing: true}
	if s.Counters == nil {
		return reading
	}
	if m.first == nil {
		m.first = s.Counters
	}
	m.latest = s.Counters
	if len(m.recent) > 0 {
		reading.Missing = false
		reading.Recent = s.Counters.P99Since(m.before(now.Add(-RecentTime)).Counters, m.host)
		reading.Window = s.Counters.P99Since(m.before(now.Add(-WindowTime)).Counters, m.host)
		if reading.Window.WALFsyncP99 > m.worst.WALFsyncP99 || m.worst.Window == 0 {
			m.worst, m.at = reading.Window, now.Add(-time.Duration(reading.Window.Window))
		}
	}
	m.recent = append(m.recent, stamped{now, s.Counters})
	for len(m.recent) > 1 && !m.recent[1].at.After(now.Add(-WindowTime)) {
		m.recent = m.recent[1:]
	}
	return reading
}

// before returns the newest counters that are at least as old, or the oldest.
func (m *memberWatch) before(at time.Time) stamped {
	found := m.recent[0]
	for _, s := range m.recent {
		if !s.at.After(at) {
			found = s
		}
	}
	return found
}

// Report returns the latency of every member that has answered: idle, during the staging, and in the worst window of it.
func (w *Watch) Report() []engine.MemberGoverned {
	var report []engine.MemberGoverned
	for _, m := range w.members {
		if m.first == nil || m.worst.Window == 0 {
			continue
		}
		report = append(report, engine.MemberGoverned{
			Host: m.host, Idle: w.idle[m.host], Staging: m.latest.P99Since(m.first, m.host), Worst: m.worst, WorstAt: m.at,
		})
	}
	return report
}
