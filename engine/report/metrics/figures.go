package metrics

import (
	"cmp"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
)

// Figures has the results of one command, from which its metrics are made.
type Figures struct {
	Site    string // empty: the inventory could not be read
	Command string // such as "apply"
	Began   time.Time
	Ended   time.Time
	Exit    engine.ExitCode

	Status   *engine.Status // state of the whole site; nil: it was not gathered
	StatusAt time.Time      // time of Status
	End      *event.RunEnd  // end of an apply; nil: no apply has ended
}

// series is a value of a metric with the values of its labels.
type series struct {
	labels []string
	value  float64
}

// collector collects the series of each metric.
type collector map[string][]series

func (c collector) add(name string, value float64, labels ...string) {
	c[name] = append(c[name], series{labels: labels, value: value})
}

func (c collector) addTime(name string, at time.Time, labels ...string) {
	if !at.IsZero() {
		c.add(name, float64(at.UnixMilli())/1000, labels...)
	}
}

func (c collector) addBool(name string, yes bool, labels ...string) {
	value := 0.0
	if yes {
		value = 1
	}
	c.add(name, value, labels...)
}

func (c collector) addDuration(name string, d engine.Duration, labels ...string) {
	c.add(name, time.Duration(d).Seconds(), labels...)
}

// collect returns the series that follow from the figures.
func (f Figures) collect() collector {
	c := collector{}
	c.add(exitCode, float64(f.Exit), f.Command)
	c.addTime(startTime, f.Began, f.Command)
	c.addTime(endTime, f.Ended, f.Command)
	if f.Status != nil {
		c.addTime(stateTime, f.StatusAt)
		c.addBool(siteComplete, f.Status.Complete)
		c.addPools(f.Status.Pools)
		c.addHolds(*f.Status)
		c.addClusters(*f.Status, f.StatusAt)
	}
	if f.End != nil {
		c.addLatencies(f.End.Latency)
		for _, h := range f.End.Hosts {
			if h.Cluster != "" && h.MemberDownFor > 0 {
				c.addDuration(memberAway, h.MemberDownFor, h.Cluster, h.Host)
			}
			if h.DownFor > 0 {
				c.addDuration(hostDown, h.DownFor, h.Host)
			}
		}
	}
	return c
}

// addPools adds each state of each pool, also those that no host has: a series that
// disappears would keep an alert from ending, or from beginning.
func (c collector) addPools(pools []engine.PoolStatus) {
	for _, p := range pools {
		for _, s := range engine.HostStates() {
			c.add(hosts, float64(p.Counts[s]), p.Name, string(s))
		}
		c.addBool(poolComplete, p.Complete, p.Name)
		if !p.Complete {
			c.addTime(incompleteSince, p.Since, p.Name)
		}
	}
}

func (c collector) addHolds(s engine.Status) {
	kinds := []string{string(engine.RunHold), string(engine.MaintenanceHold), unreadableHold}
	held := map[[2]string]int{}
	for _, h := range s.Hosts {
		switch {
		case h.Hold != nil:
			kind := holdKind(*h.Hold)
			held[[2]string{h.Pool, kind}]++
			c.addTime(holdAcquired, h.Hold.Acquired, h.Pool, h.Host, kind)
			c.addTime(holdExpires, h.Hold.Expires, h.Pool, h.Host, kind)
		case h.State == engine.HeldState: // its hold cannot be read
			held[[2]string{h.Pool, unreadableHold}]++
		}
	}
	for _, p := range s.Pools {
		for _, kind := range kinds {
			c.add(heldHosts, float64(held[[2]string{p.Name, kind}]), p.Name, kind)
		}
	}
}

// holdKind returns the kind of a hold as a label. The file comes from a host, so
// any other kind is one value, and the number of values stays bounded.
func holdKind(h engine.Hold) string {
	if h.Kind == engine.RunHold || h.Kind == engine.MaintenanceHold {
		return string(h.Kind)
	}
	return unreadableHold
}

func (c collector) addClusters(s engine.Status, at time.Time) {
	for _, facts := range s.Clusters {
		unhealthy := slices.ContainsFunc(s.UnhealthyClusters, func(u etcdfacts.UnhealthyCluster) bool { return u.Cluster == facts.Name })
		status := engine.NewClusterStatus(facts, at)
		c.addBool(clusterHealthy, !unhealthy, facts.Name)
		if status.Voters > 0 {
			c.add(voters, float64(status.Voters), facts.Name)
			c.add(healthyVoters, float64(status.Healthy), facts.Name)
			c.add(quorumMargin, float64(status.Margin), facts.Name)
		}
		c.addCertificates(facts)
	}
}

// addCertificates adds, of the certificates of a host with the same role, the one
// that expires first.
func (c collector) addCertificates(facts etcdfacts.ClusterFacts) {
	list := slices.SortedFunc(slices.Values(facts.Certificates), func(a, b etcdfacts.Certificate) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Role, b.Role), a.NotAfter.Compare(b.NotAfter))
	})
	list = slices.CompactFunc(list, func(a, b etcdfacts.Certificate) bool { return a.Host == b.Host && a.Role == b.Role })
	for _, x := range list {
		c.addTime(certificateEnd, x.NotAfter, facts.Name, x.Host, string(x.Role))
	}
}

func (c collector) addLatencies(members []event.MemberLatency) {
	for _, m := range members {
		for _, phase := range []struct {
			name  string
			point *engine.LatencyPoint
		}{{idlePhase, m.Idle}, {stagingPhase, m.Staging}, {worstPhase, m.Worst}} {
			if phase.point == nil {
				continue
			}
			if phase.point.WALFsyncBucket != nil {
				c.add(walFsync, phase.point.WALFsyncP99Seconds, m.Cluster, m.Host, phase.name)
			}
			if phase.point.BackendCommitBucket != nil {
				c.add(backendCommit, phase.point.BackendCommitP99Seconds, m.Cluster, m.Host, phase.name)
			}
		}
	}
}
