package summary

import (
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/report/governed"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/termtext"
	"holdfast/engine/report/voters"
)

// Summary collects the results of a run: the outcome of each host, durations, the health of etcd, and the next
// step.
type Summary struct {
	Style termtext.Style // of the terminal for the end of the run
	Full  bool           // shorten no list of hosts in the next steps

	hosts      map[string]*hostSummary
	clusters   map[string]*clusterSummary
	etcd       voters.Watches
	others     []event.Event // steps that failed on no host, such as gates and snapshots
	plan       engine.Plan   // the last approved plan
	plays      playProgress
	command    event.Command // the command of the run
	end        event.RunEnd
	touched    bool // a step of a host has begun, or a host has failed
	began, now time.Time
}

type hostSummary struct {
	name        string
	did         string       // work of the plays in which a step of the host has begun
	due         *plannedWork // work of a play in which no step of the host has begun; nil without such a play
	begun       bool         // a step of the host has begun
	staged      engine.Duration
	held        time.Time       // begin of the hold; zero while the host is not held
	heldFor     engine.Duration // total time from hold to release, or until the run noticed that it lost the hold
	takesHold   bool            // the step that holds the host has begun, and nothing tells how it ended
	adopts      bool            // the host has the hold of a dead run, which the run is to adopt
	neverHeld   bool            // nothing disrupted the host
	last        time.Time       // begin of the last step
	updated     bool            // all work that has begun is done
	failure     *engine.Failure
	became      string // state of a failed host, in words
	fate        event.HostOutcome
	hasFallback bool // a reboot replaces an action that fails

	failedAction *engine.Failure // the failed action that the reboot replaced
}

// playProgress is the progress of the plays of a run.
type playProgress struct {
	shown int             // number of plays with a plan
	begun bool            // something was done after the last plan
	owed  map[string]bool // hosts that did not get all work of a play before the last one
}

// plannedWork is the work of a play on a host.
type plannedWork struct {
	did         string
	hasFallback bool
}

type clusterSummary struct {
	voters, least, quorum int

	governed governed.Totals // totals of all stagings near the cluster
}

// New returns the summary of a run that has not begun.
func New() *Summary {
	return &Summary{hosts: map[string]*hostSummary{}, clusters: map[string]*clusterSummary{}, etcd: voters.Watches{}, plays: playProgress{owed: map[string]bool{}}}
}

// AddEvent adds an event of the run.
func (s *Summary) AddEvent(e event.Event) {
	if s.began.IsZero() {
		s.began = e.Time
	}
	s.now = e.Time
	s.plays.begun = s.plays.begun || e.Type == event.StepStarted || e.Type == event.StageStarted || e.Type == event.BatchStarted
	switch {
	case e.Type == event.RunStarted && e.Start != nil:
		s.command = e.Start.Command
	case e.Type == event.Planned && e.Plan != nil:
		s.addPlan(*e.Plan)
	case e.Type == event.RunEnded && e.End != nil:
		s.end = *e.End
	case e.Type == event.EtcdSampled: // followEtcd handles it
	case e.Type == event.StagingGoverned:
		if e.Governor != nil && e.Governor.State == engine.GovernorEnded {
			s.clusterNamed(e.Cluster).governed.Add(*e.Governor)
		}
	case e.Host != "":
		h := s.hostNamed(e.Host)
		h.addEvent(e)
		s.touched = s.touched || h.isTouched()
	case e.Type == event.StepEnded && e.Failure != nil && e.Failure.Kind != engine.StoppedFailure:
		s.others = append(s.others, e)
	}
	s.followEtcd(e)
}

// followEtcd keeps the lowest number of healthy voters over all events, and not only over samples.
func (s *Summary) followEtcd(e event.Event) {
	if s.etcd.AddEvent(e) == nil {
		return
	}
	for name, w := range s.etcd {
		if c := s.clusterNamed(name); w.Sample.Voters > 0 && (c.quorum == 0 || w.HealthyVoters() < c.least) {
			c.least, c.voters, c.quorum = w.HealthyVoters(), w.Sample.Voters, etcdfacts.QuorumOf(w.Sample.Voters)
		}
	}
}

func (s *Summary) addPlan(p engine.Plan) {
	for _, x := range s.plan.Excluded {
		s.plays.owed[x.Host] = true
	}
	for name, h := range s.hosts {
		s.plays.owed[name] = s.plays.owed[name] || h.due != nil
	}
	s.plan, s.plays.shown, s.plays.begun = p, s.plays.shown+1, false
	for _, hp := range p.Hosts {
		h := s.hostNamed(hp.Host)
		h.due, h.adopts = &plannedWork{planview.DescribeWork(hp), hp.FallsBack()}, hp.Adopt != ""
	}
}

func (s *Summary) hostNamed(name string) *hostSummary {
	if s.hosts[name] == nil {
		s.hosts[name] = &hostSummary{name: name, neverHeld: true}
	}
	return s.hosts[name]
}

func (s *Summary) clusterNamed(name string) *clusterSummary {
	if s.clusters[name] == nil {
		s.clusters[name] = &clusterSummary{}
	}
	return s.clusters[name]
}

func (h *hostSummary) isTouched() bool { return h.begun || h.failure != nil }

func (h *hostSummary) addEvent(e event.Event) {
	switch e.Type {
	case event.StepStarted:
		h.beginPlay()
		h.begun, h.last, h.takesHold = true, e.Time, h.takesHold || e.Kind == engine.HoldStep
		h.addReboot(e.Reboot)
	case event.StepEnded:
		switch {
		case e.Failure == nil:
			h.addPassedStep(e)
		case h.hasFallback && e.Failure.Kind == engine.ActionFailure && e.Kind != engine.RebootStep:
			h.failedAction = e.Failure
		}
	case event.Warned:
		const reset = "; reset through its BMC, because it did not come back"
		switch {
		case e.Reset && e.Failure != nil:
			h.did = strings.TrimSuffix(h.did, reset)
		case e.Reset:
			h.did += reset
		}
		if r := e.Reboot; r != nil {
			h.did += "; instead a " + string(r.Kind) + " reboot: " + r.Reason
		}
	case event.HostDone:
		h.beginPlay()
		h.updated, h.takesHold = true, false
	case event.HostFailed:
		h.beginPlay()
		h.takesHold = false
		h.failure, h.became, h.fate = e.Failure, e.Message, e.Outcome
		if e.Outcome == event.HoldLostOutcome {
			h.endHold(e.Time)
		}
	default: // the other events are not about the work on a host
	}
}

// beginPlay replaces the work of the previous play with the work of the last
// plan. The host counts as updated only after this work is done, too.
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

// addReboot adds the kind of a reboot to the work, if the pool allows several kinds.
func (h *hostSummary) addReboot(r *engine.Reboot) {
	if r == nil || !r.Chosen {
		return
	}
	if h.did += "; " + string(r.Kind) + " reboot"; !r.Kind.SharesKernel() {
		h.did += ": " + r.Reason
	}
	if len(r.Survivors) > 0 {
		h.did += ", " + strings.Join(r.Survivors, ", ") + " ran on"
	}
}

func (h *hostSummary) addPassedStep(e event.Event) {
	switch {
	case e.Kind == engine.StageStep:
		h.staged += e.Took
	case e.Kind == engine.HoldStep:
		h.neverHeld, h.takesHold = false, false
		if h.held.IsZero() {
			h.held = e.Time
		}
	case e.Kind == engine.ReleaseStep:
		h.endHold(e.Time)
	}
}

func (h *hostSummary) endHold(at time.Time) {
	h.heldFor += durationBetween(h.held, at)
	h.held, h.takesHold, h.adopts = time.Time{}, false, false
}

func durationBetween(from, to time.Time) engine.Duration {
	if from.IsZero() || to.Before(from) {
		return 0
	}
	return engine.Duration(to.Sub(from))
}

func (h *hostSummary) rolledBack() bool {
	return h.fate == event.RolledBackOutcome || h.fate == event.RolledBackEarlierOutcome
}

// AssumeEnd adds the hosts and the plays to the end of a run that stopped after its last event.
func (s *Summary) AssumeEnd(end *event.RunEnd) {
	owed := maps.Clone(s.plays.owed)
	for name, h := range s.hosts {
		if h.due == nil && !h.updated && !h.isTouched() {
			continue // it was in no plan, and only the subject of an event, as a host that did not answer
		}
		owed[name] = owed[name] || !h.updated || h.failure != nil || s.plays.begun && h.due != nil
	}
	switch {
	case s.plays.begun:
		for _, x := range s.plan.Excluded {
			owed[x.Host] = true
		}
	case s.plan.Play != "":
		end.NotBegun = []string{s.plan.Play}
	}
	for _, name := range slices.Sorted(maps.Keys(owed)) {
		if owed[name] {
			end.Untouched = append(end.Untouched, name)
		} else {
			end.Updated = append(end.Updated, name)
		}
	}
}
