package report

import (
	"slices"
	"time"

	"holdfast/engine"
)

// summary folds the events of a run into what is worth knowing at its end:
// what became of each host and how long it took, what etcd went through
// meanwhile, and what is to be done if the run did not succeed.
type summary struct {
	hosts      map[string]*hostSummary
	clusters   map[string]*clusterSummary
	etcd       etcdWatches
	others     []engine.Event // steps that failed on no host: gates, snapshots
	plan       engine.Plan    // the last, as approved
	play       int            // that it is of, from 1: there is a plan for each
	excluded   []leftOut      // by any of the plans
	args       []string       // of the run
	began, now time.Time
}

// leftOut is a host that the plan of a play leaves alone.
type leftOut struct {
	engine.Exclusion
	play int
}

type hostSummary struct {
	name    string
	did     string   // in the plays in which a step of it has begun
	due     *planned // in a play in which none has
	begun   bool     // a step of it has begun
	staged  engine.Duration
	held    time.Time       // zero when it is not
	heldFor engine.Duration // until it was released
	calm    bool            // it was never held: nothing disrupted it
	last    time.Time       // start of the last step
	gone    time.Time       // when it was ordered to reboot, zero when it is back
	away    engine.Duration // in all, from each order until it answered again
	updated bool            // what was begun of it was done
	play    int             // the last in which it was
	failure *engine.Failure
	became  string // of a host that failed
	fate    engine.HostFate
	mayFall bool // its plan has a reboot stand in for an action that fails

	fell *engine.Failure // the action that failed, so that it was drained and rebooted instead
}

// planned is what a play is to do to a host.
type planned struct {
	did     string
	mayFall bool
}

type clusterSummary struct {
	samples, unknown, voters, least, quorum int

	slowest float64 // p99 of WAL fsync, in seconds
	where   string
}

func newSummary() *summary {
	return &summary{hosts: map[string]*hostSummary{}, clusters: map[string]*clusterSummary{}, etcd: etcdWatches{}}
}

// add takes the next event.
func (s *summary) add(e engine.Event) {
	if s.began.IsZero() {
		s.began = e.Time
	}
	s.now = e.Time
	s.follow(e)
	switch {
	case e.Type == engine.RunStarted && e.Start != nil:
		s.args = e.Start.Args
	case e.Type == engine.Planned && e.Plan != nil:
		s.planned(*e.Plan)
	case e.Type == engine.EtcdSampled: // followed
	case e.Host != "":
		s.host(e.Host).add(e, s.play)
	case e.Type == engine.StepEnded && e.Failure != nil && e.Failure.Kind != engine.StoppedFailure:
		s.others = append(s.others, e)
	}
}

// follow keeps the least number of healthy voters of each cluster, at every
// moment of the run and not only when somebody looked.
func (s *summary) follow(e engine.Event) {
	if e.Type == engine.EtcdSampled && e.Etcd != nil {
		s.cluster(e.Cluster).add(*e.Etcd)
	}
	if s.etcd.add(e) == nil {
		return
	}
	for name, w := range s.etcd {
		if c := s.cluster(name); w.sample.Voters > 0 && (c.quorum == 0 || w.healthy() < c.least) {
			c.least, c.voters, c.quorum = w.healthy(), w.sample.Voters, engine.QuorumOf(w.sample.Voters)
		}
	}
}

func (s *summary) planned(p engine.Plan) {
	s.plan = p
	s.play++
	for _, x := range p.Excluded {
		if !slices.ContainsFunc(s.excluded, func(o leftOut) bool { return o.Exclusion == x }) {
			s.excluded = append(s.excluded, leftOut{x, s.play})
		}
	}
	for _, hp := range p.Hosts {
		s.host(hp.Host).due = &planned{deed(hp), hp.FallsBack()}
	}
}

func (s *summary) host(name string) *hostSummary {
	if s.hosts[name] == nil {
		s.hosts[name] = &hostSummary{name: name, calm: true}
	}
	return s.hosts[name]
}

func (s *summary) cluster(name string) *clusterSummary {
	if s.clusters[name] == nil {
		s.clusters[name] = &clusterSummary{}
	}
	return s.clusters[name]
}

func (h *hostSummary) add(e engine.Event, play int) {
	switch e.Type {
	case engine.StepStarted:
		h.begin()
		if (e.Kind == engine.RebootStep || e.Kind == engine.BootStep) && h.gone.IsZero() {
			h.gone = e.Time
		}
		h.begun, h.last = true, e.Time
	case engine.StepEnded:
		switch {
		case e.Failure == nil:
			h.passed(e)
		case e.Kind == engine.RebootStep: // it refused
			h.gone = time.Time{}
		case h.mayFall && e.Failure.Kind == engine.ActionFailure:
			h.fell = e.Failure
		}
	case engine.HostDone:
		h.begin()
		h.updated, h.play = true, play
	case engine.HostFailed:
		h.begin()
		h.failure, h.became, h.fate = e.Failure, e.Message, e.Fate
	}
}

// begin turns to what the last plan is to do to the host: it is not done by what
// a play before it did.
func (h *hostSummary) begin() {
	if h.due == nil {
		return
	}
	if h.did != "" {
		h.did += "; then "
	}
	h.did += h.due.did
	h.mayFall, h.updated, h.due = h.due.mayFall, false, nil
}

// what is what was done to the host, and what was to be and was not begun.
func (h *hostSummary) what() string {
	switch {
	case h.due == nil:
		return h.did
	case h.did == "":
		return h.due.did
	}
	return h.did + "; not begun: " + h.due.did
}

func (h *hostSummary) passed(e engine.Event) {
	switch {
	case e.Kind == engine.StageStep:
		h.staged += e.Took
	case e.Kind == engine.HoldStep:
		h.calm = false
		if h.held.IsZero() {
			h.held = e.Time
		}
	case e.Kind == engine.BootStep:
		h.away += between(h.gone, e.Time)
		h.gone = time.Time{}
	case e.Kind == engine.ReleaseStep:
		h.heldFor += between(h.held, e.Time)
		h.held = time.Time{}
	}
}

// stillHeld reports whether the run took the host's hold and did not end it.
func (h *hostSummary) stillHeld() bool { return !h.held.IsZero() }

// quiet reports whether the host was never held: nothing disrupted it.
func (h *hostSummary) quiet() bool { return h.begun && h.calm }

func between(from, to time.Time) engine.Duration {
	if from.IsZero() || to.Before(from) {
		return 0
	}
	return engine.Duration(to.Sub(from))
}

// rolledBack reports whether the host runs the OS again that it ran before.
func (h *hostSummary) rolledBack() bool { return h.fate == engine.RolledBackFate }

// result is what became of the host, in a word or two.
func (h *hostSummary) result() string {
	switch {
	case h.updated && h.fell != nil:
		return "updated, by a reboot"
	case h.updated:
		return "updated"
	case h.failure != nil && h.failure.Kind == engine.StoppedFailure:
		return "stopped at " + h.failure.Step
	case h.failure != nil && h.failure.Kind == engine.HeldFailure:
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
	c.samples++
	for _, l := range s.Latency {
		if l.WALFsyncP99 > c.slowest {
			c.slowest, c.where = l.WALFsyncP99, l.Host
		}
	}
}
