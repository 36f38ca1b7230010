package report

import (
	"slices"
	"strings"
	"time"

	"holdfast/engine"
)

// summary folds the events of a run into what is worth knowing at its end:
// what became of each host and how long it took, what etcd went through
// meanwhile, and what is to be done if the run did not succeed.
type summary struct {
	hosts      map[string]*hostSummary
	clusters   map[string]*clusterSummary
	others     []engine.Event     // steps that failed on no host: gates, snapshots
	plan       engine.Plan        // the last, as approved
	excluded   []engine.Exclusion // by any plan: there is one for each play
	args       []string           // of the run
	began, now time.Time
}

type hostSummary struct {
	name, did     string
	begun         bool // a step of it has begun
	staged        engine.Duration
	held, freed   time.Time
	last          time.Time // start of the last step
	ordered, back time.Time // to reboot, and answering again
	updated       bool
	failure       *engine.Failure
	became        string // of a host that failed
	mayFall       bool   // its plan has a reboot stand in for an action that fails

	fell *engine.Failure // the action that failed, so that it was drained and rebooted instead
}

type clusterSummary struct {
	samples, unknown, voters, least, quorum int

	slowest float64 // p99 of WAL fsync, in seconds
	where   string
}

func newSummary() *summary {
	return &summary{hosts: map[string]*hostSummary{}, clusters: map[string]*clusterSummary{}}
}

// add takes the next event.
func (s *summary) add(e engine.Event) {
	if s.began.IsZero() {
		s.began = e.Time
	}
	s.now = e.Time
	switch {
	case e.Type == engine.RunStarted && e.Start != nil:
		s.args = e.Start.Args
	case e.Type == engine.Planned && e.Plan != nil:
		s.planned(*e.Plan)
	case e.Type == engine.EtcdSampled && e.Etcd != nil:
		s.cluster(e.Cluster).add(*e.Etcd)
	case e.Host != "":
		s.host(e.Host).add(e)
	case e.Type == engine.StepEnded && e.Failure != nil && e.Failure.Kind != "stopped":
		s.others = append(s.others, e)
	}
}

func (s *summary) planned(p engine.Plan) {
	s.plan = p
	for _, x := range p.Excluded {
		if !slices.Contains(s.excluded, x) {
			s.excluded = append(s.excluded, x)
		}
	}
	for _, hp := range p.Hosts {
		h := s.host(hp.Host)
		h.did, h.mayFall = deed(hp), hp.FallsBack()
	}
}

func (s *summary) host(name string) *hostSummary {
	if s.hosts[name] == nil {
		s.hosts[name] = &hostSummary{name: name}
	}
	return s.hosts[name]
}

func (s *summary) cluster(name string) *clusterSummary {
	if s.clusters[name] == nil {
		s.clusters[name] = &clusterSummary{}
	}
	return s.clusters[name]
}

func (h *hostSummary) add(e engine.Event) {
	switch e.Type {
	case engine.StepStarted:
		if e.Step == "wait for boot" && h.ordered.IsZero() {
			h.ordered = h.last // the step before it ordered the reboot
		}
		h.begun, h.last = true, e.Time
	case engine.StepEnded:
		switch {
		case e.Failure == nil:
			h.passed(e)
		case h.mayFall && e.Failure.Kind == "action":
			h.fell = e.Failure
		}
	case engine.HostDone:
		h.updated = true
	case engine.HostFailed:
		h.failure, h.became = e.Failure, e.Message
	}
}

func (h *hostSummary) passed(e engine.Event) {
	switch e.Step {
	case "stage":
		h.staged += e.Took
	case "hold":
		h.held = e.Time
	case "wait for boot":
		h.back = e.Time
	case "release":
		h.freed = e.Time
	}
}

// stillHeld reports whether the run took the host's hold and did not end it.
func (h *hostSummary) stillHeld() bool { return !h.held.IsZero() && h.freed.IsZero() }

// quiet reports whether the host was never held: nothing disrupted it.
func (h *hostSummary) quiet() bool { return h.begun && h.held.IsZero() }

// away is the time from the order to reboot until the host answered again.
func (h *hostSummary) away() engine.Duration { return between(h.ordered, h.back) }

func (h *hostSummary) heldFor() engine.Duration { return between(h.held, h.freed) }

func between(from, to time.Time) engine.Duration {
	if from.IsZero() || to.Before(from) {
		return 0
	}
	return engine.Duration(to.Sub(from))
}

// rolledBack reports whether the host runs the OS again that it ran before.
func (h *hostSummary) rolledBack() bool { return strings.HasPrefix(h.became, "it was rolled back") }

// result is what became of the host, in a word or two.
func (h *hostSummary) result() string {
	switch {
	case h.updated && h.fell != nil:
		return "updated, by a reboot"
	case h.updated:
		return "updated"
	case h.failure != nil && h.failure.Kind == "stopped":
		return "stopped at " + h.failure.Step
	case h.failure != nil && h.failure.Kind == "held":
		return "left alone at " + h.failure.Step
	case h.failure != nil && h.rolledBack():
		return "rolled back after " + h.failure.Step
	case h.failure != nil:
		return "failed at " + h.failure.Step
	case h.staged > 0:
		return "staged"
	}
	return "not finished"
}

func (c *clusterSummary) add(s engine.Sample) {
	if s.Voters == 0 {
		c.unknown++
		return
	}
	if c.samples == 0 || s.Healthy < c.least {
		c.least, c.voters, c.quorum = s.Healthy, s.Voters, engine.QuorumOf(s.Voters)
	}
	c.samples++
	for _, l := range s.Latency {
		if l.WALFsyncP99 > c.slowest {
			c.slowest, c.where = l.WALFsyncP99, l.Host
		}
	}
}
