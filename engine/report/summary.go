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
	others     []engine.Event  // steps that failed on no host: gates, snapshots
	plan       engine.Plan     // the last, as approved
	play       int             // that it is of, from 1: there is a plan for each
	excluded   []playExclusion // by any of the plans
	args       []string        // of the run
	began, now time.Time
}

// playExclusion is a host that the plan of a play leaves alone.
type playExclusion struct {
	engine.Exclusion
	play int
}

type hostSummary struct {
	name          string
	did           string       // in the plays in which a step of it has begun
	due           *plannedWork // in a play in which none has
	begun         bool         // a step of it has begun
	staged        engine.Duration
	held          time.Time       // zero when it is not
	heldFor       engine.Duration // until it was released
	neverHeld     bool            // it was never held: nothing disrupted it
	last          time.Time       // start of the last step
	rebootOrdered time.Time       // when it was ordered to reboot, zero when it is back
	unavailable   engine.Duration // in all, from each order until it answered again
	updated       bool            // what was begun of it was done
	play          int             // the last in which it was
	failure       *engine.Failure
	became        string // of a host that failed
	fate          engine.HostFate
	hasFallback   bool // its plan has a reboot stand in for an action that fails

	failedAction *engine.Failure // the action that failed, so that it was drained and rebooted instead
}

// plannedWork is what a play is to do to a host.
type plannedWork struct {
	did         string
	hasFallback bool
}

type clusterSummary struct {
	samples, unknown, voters, least, quorum int

	slowest float64 // p99 of WAL fsync, in seconds
	where   string
}

func newSummary() *summary {
	return &summary{hosts: map[string]*hostSummary{}, clusters: map[string]*clusterSummary{}, etcd: etcdWatches{}}
}

// addEvent takes the next event.
func (s *summary) addEvent(e engine.Event) {
	if s.began.IsZero() {
		s.began = e.Time
	}
	s.now = e.Time
	s.followEtcd(e)
	switch {
	case e.Type == engine.RunStarted && e.Start != nil:
		s.args = e.Start.Args
	case e.Type == engine.Planned && e.Plan != nil:
		s.addPlan(*e.Plan)
	case e.Type == engine.EtcdSampled: // followed
	case e.Host != "":
		s.hostNamed(e.Host).addEvent(e, s.play)
	case e.Type == engine.StepEnded && e.Failure != nil && e.Failure.Kind != engine.StoppedFailure:
		s.others = append(s.others, e)
	}
}

// followEtcd keeps the least number of healthy voters of each cluster, at every
// moment of the run and not only when somebody looked.
func (s *summary) followEtcd(e engine.Event) {
	if e.Type == engine.EtcdSampled && e.Etcd != nil {
		s.clusterNamed(e.Cluster).addSample(*e.Etcd)
	}
	if s.etcd.addEvent(e) == nil {
		return
	}
	for name, w := range s.etcd {
		if c := s.clusterNamed(name); w.sample.Voters > 0 && (c.quorum == 0 || w.healthyVoters() < c.least) {
			c.least, c.voters, c.quorum = w.healthyVoters(), w.sample.Voters, engine.QuorumOf(w.sample.Voters)
		}
	}
}

func (s *summary) addPlan(p engine.Plan) {
	s.plan = p
	s.play++
	for _, x := range p.Excluded {
		if !slices.ContainsFunc(s.excluded, func(o playExclusion) bool { return o.Exclusion == x }) {
			s.excluded = append(s.excluded, playExclusion{x, s.play})
		}
	}
	for _, hp := range p.Hosts {
		s.hostNamed(hp.Host).due = &plannedWork{describeWork(hp), hp.FallsBack()}
	}
}

func (s *summary) hostNamed(name string) *hostSummary {
	if s.hosts[name] == nil {
		s.hosts[name] = &hostSummary{name: name, neverHeld: true}
	}
	return s.hosts[name]
}

func (s *summary) clusterNamed(name string) *clusterSummary {
	if s.clusters[name] == nil {
		s.clusters[name] = &clusterSummary{}
	}
	return s.clusters[name]
}

func (h *hostSummary) addEvent(e engine.Event, play int) {
	switch e.Type {
	case engine.StepStarted:
		h.beginPlay()
		if (e.Kind == engine.RebootStep || e.Kind == engine.BootStep) && h.rebootOrdered.IsZero() {
			h.rebootOrdered = e.Time
		}
		h.begun, h.last = true, e.Time
	case engine.StepEnded:
		switch {
		case e.Failure == nil:
			h.addPassedStep(e)
		case e.Kind == engine.RebootStep: // it refused
			h.rebootOrdered = time.Time{}
		case h.hasFallback && e.Failure.Kind == engine.ActionFailure:
			h.failedAction = e.Failure
		}
	case engine.HostDone:
		h.beginPlay()
		h.updated, h.play = true, play
	case engine.HostFailed:
		h.beginPlay()
		h.failure, h.became, h.fate = e.Failure, e.Message, e.Fate
	}
}

// beginPlay turns to what the last plan is to do to the host: it is not done by what
// a play before it did.
func (h *hostSummary) beginPlay() {
	if h.due == nil {
		return
	}
	if h.did != "" {
		h.did += "; then "
	}
	h.did += h.due.did
	h.hasFallback, h.updated, h.due = h.due.hasFallback, false, nil
}

// workText is what was done to the host, and what was to be and was not begun.
func (h *hostSummary) workText() string {
	switch {
	case h.due == nil:
		return h.did
	case h.did == "":
		return h.due.did
	}
	return h.did + "; not begun: " + h.due.did
}

func (h *hostSummary) addPassedStep(e engine.Event) {
	switch {
	case e.Kind == engine.StageStep:
		h.staged += e.Took
	case e.Kind == engine.HoldStep:
		h.neverHeld = false
		if h.held.IsZero() {
			h.held = e.Time
		}
	case e.Kind == engine.BootStep:
		h.unavailable += durationBetween(h.rebootOrdered, e.Time)
		h.rebootOrdered = time.Time{}
	case e.Kind == engine.ReleaseStep:
		h.heldFor += durationBetween(h.held, e.Time)
		h.held = time.Time{}
	}
}

// stillHeld reports whether the run took the host's hold and did not end it.
func (h *hostSummary) stillHeld() bool { return !h.held.IsZero() }

// isNonDisruptive reports whether the host was never held: nothing disrupted it.
func (h *hostSummary) isNonDisruptive() bool { return h.begun && h.neverHeld }

func durationBetween(from, to time.Time) engine.Duration {
	if from.IsZero() || to.Before(from) {
		return 0
	}
	return engine.Duration(to.Sub(from))
}

// rolledBack reports whether the host runs the OS again that it ran before.
func (h *hostSummary) rolledBack() bool { return h.fate == engine.RolledBackFate }

// outcomeText is what became of the host, in a word or two.
func (h *hostSummary) outcomeText() string {
	switch {
	case h.updated && h.failedAction != nil:
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

func (c *clusterSummary) addSample(s engine.Sample) {
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
