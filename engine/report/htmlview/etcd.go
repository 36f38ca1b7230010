package htmlview

import (
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
)

// clusterHistory has the health and the latencies of an etcd cluster over a run.
type clusterHistory struct {
	near    []string // hosts of its members, and hosts that are staged near it
	limits  map[engine.LatencyMetric]float64
	members map[string]*memberHistory
	voters  []voterPoint

	lost     int        // changes of the number of voters that are not kept
	lostFrom time.Time  // time of the first of them
	latest   voterPoint // the last change, also if it is not kept
}

// memberHistory has the latencies of one member, in seconds.
type memberHistory struct {
	latency map[engine.LatencyMetric]*series
	limits  map[engine.LatencyMetric]float64 // limits that the governor reported last
}

// voterPoint is the number of healthy voters from a time on.
type voterPoint struct {
	at              time.Time
	healthy, voters int
	away            []string // hosts of the other voters
	unknown         bool     // no member answered; away has only the hosts whose members the run took down
}

// maxVoterPoints is the number of changes of the number of voters that are kept.
const maxVoterPoints = 2000

func (v *View) clusterNamed(name string) *clusterHistory {
	if v.clusters[name] == nil {
		v.clusters[name] = &clusterHistory{limits: map[engine.LatencyMetric]float64{}, members: map[string]*memberHistory{}}
	}
	return v.clusters[name]
}

func (c *clusterHistory) addHost(host string) {
	if !slices.Contains(c.near, host) {
		c.near = append(c.near, host)
	}
}

func (c *clusterHistory) memberNamed(host string) *memberHistory {
	if c.members[host] == nil {
		c.members[host] = &memberHistory{
			latency: map[engine.LatencyMetric]*series{engine.WALFsync: {}, engine.BackendCommit: {}},
			limits:  map[engine.LatencyMetric]float64{},
		}
	}
	return c.members[host]
}

func (v *View) followEtcd(e event.Event) {
	switch {
	case e.Type == event.EtcdSampled && e.Etcd != nil:
		for _, p := range e.Etcd.Latency {
			m := v.clusterNamed(e.Cluster).memberNamed(p.Host)
			m.latency[engine.WALFsync].add(e.Time, p.WALFsyncP99Seconds)
			m.latency[engine.BackendCommit].add(e.Time, p.BackendCommitP99Seconds)
		}
	case e.Type == event.StagingGoverned && e.Governor != nil && e.Governor.MemberHost != "" && e.Governor.Limit > 0:
		v.clusterNamed(e.Cluster).memberNamed(e.Governor.MemberHost).limits[e.Governor.Metric] = time.Duration(e.Governor.Limit).Seconds()
	}
	if v.watches.AddEvent(e) == nil {
		return
	}
	for name, w := range v.watches {
		p := voterPoint{at: e.Time, healthy: w.HealthyVoters(), voters: w.Sample.Voters}
		switch {
		case !w.Silence.Since.IsZero():
			p.unknown, p.healthy, p.away = true, 0, w.DownHosts()
		case p.voters == 0:
			continue
		default:
			p.away = slices.Sorted(slices.Values(slices.Concat(w.Sample.UnhealthyHosts, w.DownHosts())))
			p.away = slices.Compact(p.away)
		}
		v.clusterNamed(name).addVoters(p)
	}
}

func (c *clusterHistory) addVoters(p voterPoint) {
	if n := len(c.voters); n > 0 {
		last := c.latest
		if last.healthy == p.healthy && last.voters == p.voters && last.unknown == p.unknown && slices.Equal(last.away, p.away) {
			return
		}
		if n == maxVoterPoints {
			if c.lost++; c.lost == 1 {
				c.lostFrom = p.at
			}
			c.latest = p
			return
		}
	}
	c.voters, c.latest = append(c.voters, p), p
}

// knownUntil returns the end of the last change that is kept, at most end.
func (c *clusterHistory) knownUntil(end time.Time) time.Time {
	if c.lost > 0 {
		return c.lostFrom
	}
	return end
}

// outage is a time in which voters of a cluster were away, or no member answered.
type outage struct {
	voterPoint
	until time.Time
	open  bool // it lasted at the last event
}

func (o outage) quorum() int { return etcdfacts.QuorumOf(o.voters) }

func (c *clusterHistory) outages(end time.Time) []outage {
	var all []outage
	for i, p := range c.voters {
		if p.healthy >= p.voters && !p.unknown {
			continue
		}
		o := outage{p, c.knownUntil(end), c.lost == 0}
		if i+1 < len(c.voters) {
			o.until, o.open = c.voters[i+1].at, false
		}
		all = append(all, o)
	}
	return all
}

// series has values over time. When it is full, it keeps the higher one of each
// two neighbours, so that no peak is lost.
type series struct {
	points []point
	per    int // samples that a point stands for, at most
}

type point struct {
	at    time.Time
	value float64
}

// maxPoints is the number of points of a series.
const maxPoints = 4000

// add ignores a value of zero: nothing was measured.
func (s *series) add(at time.Time, value float64) {
	if value <= 0 {
		return
	}
	s.per = max(s.per, 1)
	if len(s.points) == maxPoints {
		s.points = highest(s.points, maxPoints/2)
		s.per *= 2
	}
	s.points = append(s.points, point{at, value})
}

// highest returns at most n points: the highest ones of runs of equal length.
func highest(points []point, n int) []point {
	if len(points) <= n {
		return points
	}
	each := (len(points) + n - 1) / n
	var kept []point
	for group := range slices.Chunk(points, each) {
		kept = append(kept, slices.MaxFunc(group, func(a, b point) int {
			if a.value < b.value {
				return -1
			} else if a.value > b.value {
				return 1
			}
			return 0
		}))
	}
	return kept
}
