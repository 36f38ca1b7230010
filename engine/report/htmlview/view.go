package htmlview

import (
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/summary"
	"holdfast/engine/report/voters"
	"holdfast/engine/totals"
)

// View collects the events of a run for its page.
type View struct {
	sum         *summary.Summary
	figures     totals.Tally // figures of a run without an end
	run         string
	start       event.RunStart
	end         *event.RunEnd
	began, last time.Time
	plans       []plannedPlay
	steps       map[string]engine.Op // operations of the planned steps that only wait, by name
	hosts       map[string]*hostTimeline
	batches     []*batch
	underWay    map[string]event.Event // step under way of each host, cluster or pool
	waits       waitTable
	memberSteps []event.Event // ended steps of a change of members
	lostSteps   int           // of these, steps that are not kept
	failures    failureTable
	warnings    warningList
	watches     voters.Watches
	clusters    map[string]*clusterHistory
	unknown     map[event.Type]int
}

// plannedPlay has the parts of a plan that the page shows.
type plannedPlay struct {
	play       string
	forecast   *engine.Forecast
	groups     []planview.HostGroup
	excluded   []engine.Exclusion
	drift      []engine.HostDrift
	refusals   []string
	unfinished []engine.UnfinishedHost
}

// Journal is the condition of the journal of a run.
type Journal struct {
	Cut      bool   // its last line is incomplete
	UnderWay bool   // the run has not ended, and its process is alive
	Problem  string // why the journal was not read to its end
}

// New returns the view of a run without events.
func New() *View {
	return &View{
		sum: summary.New(), steps: map[string]engine.Op{}, hosts: map[string]*hostTimeline{}, underWay: map[string]event.Event{},
		watches: voters.Watches{}, clusters: map[string]*clusterHistory{}, unknown: map[event.Type]int{},
	}
}

// AddEvent adds an event of the run.
func (v *View) AddEvent(e event.Event) {
	if v.began.IsZero() {
		v.began, v.run = e.Time, e.Run
	}
	if e.Time.After(v.last) {
		v.last = e.Time
	}
	v.sum.AddEvent(e)
	v.figures.AddEvent(e)
	v.followEtcd(e)
	switch e.Type {
	case event.RunStarted:
		if e.Start != nil {
			v.start = *e.Start
		}
	case event.Planned:
		if e.Plan != nil {
			v.addPlan(*e.Plan)
		}
	case event.BatchStarted:
		v.batches = append(v.batches, &batch{number: e.Batch, hosts: e.Hosts, canaries: e.Canaries, began: e.Time})
	case event.BatchEnded:
		if n := len(v.batches); n > 0 {
			v.batches[n-1].ended = e.Time
		}
	case event.StepStarted, event.StepProgress, event.StepEnded:
		v.addStep(e)
	case event.HostDone, event.HostFailed:
		v.addOutcome(e)
	case event.Warned, event.Interrupted:
		v.warnings.add(e.Time, e.Message)
	case event.RunEnded:
		v.end = e.End
	case event.HostsGathered, event.HostGathered, event.StageStarted, event.StageEnded, event.EtcdSampled, event.StagingGoverned,
		event.MaintenancePlanned:
	default:
		v.addUnknown(e.Type)
	}
}

// mostUnknown is the number of unknown types of events that are counted apart.
const mostUnknown = 20

func (v *View) addUnknown(t event.Type) {
	if v.unknown[t] == 0 && len(v.unknown) >= mostUnknown {
		t = "others"
	}
	v.unknown[t]++
}

func (v *View) addPlan(p engine.Plan) {
	v.plans = append(v.plans, plannedPlay{
		play: p.Play, forecast: p.Forecast, groups: planview.GroupHosts(p), excluded: p.Excluded, drift: p.Drift, refusals: p.Refusals, unfinished: p.Unfinished,
	})
	for _, text := range p.Warnings {
		v.warnings.add(time.Time{}, text)
	}
	for _, c := range p.CertificateProblems {
		v.warnings.add(time.Time{}, "etcd cluster "+c.Cluster+": "+c.Text)
	}
	v.addWaitingSteps(slices.Concat(p.Start, p.Before))
	for _, hp := range p.Hosts {
		v.addWaitingSteps(hp.Sequence)
		if hp.Cluster != "" {
			v.clusterNamed(hp.Cluster).addHost(hp.Host)
		}
	}
	for _, b := range p.Batches {
		v.addWaitingSteps(b.Before)
		v.addWaitingSteps(b.After)
	}
	for _, l := range p.Lanes {
		if l.Cluster == "" {
			continue
		}
		c := v.clusterNamed(l.Cluster)
		if l.Governing != nil {
			c.limits[engine.WALFsync], c.limits[engine.BackendCommit] = time.Duration(l.Governing.WALFsyncP99).Seconds(), time.Duration(l.Governing.BackendCommitP99).Seconds()
		}
		for _, host := range l.Hosts {
			c.addHost(host)
		}
	}
}

// addWaitingSteps keeps the steps that only wait. Steps of one name have the
// same operation on all hosts.
func (v *View) addWaitingSteps(steps []engine.Step) {
	for _, s := range steps {
		if s.Do.Gate != nil || s.Do.Pause != nil || s.Do.AwaitUnits != nil || s.Do.AwaitEtcd != nil || s.Do.AwaitNode != nil {
			v.steps[s.Name] = s.Do
		}
	}
}

func (v *View) addOutcome(e event.Event) {
	h := v.hostNamed(e.Host)
	delete(v.underWay, e.Host)
	if e.Type == event.HostDone || e.Failure == nil {
		return
	}
	h.endSpan(waited, e.Time)
	if e.Outcome == event.HoldLostOutcome {
		h.endSpan(held, e.Time)
	}
	if e.Failure.Kind != engine.StoppedFailure {
		h.failedAt = append(h.failedAt, e.Time)
		v.failures.add(e)
	}
}

func (v *View) hostNamed(name string) *hostTimeline {
	if v.hosts[name] == nil {
		v.hosts[name] = &hostTimeline{}
	}
	return v.hosts[name]
}

// isMaintenance reports whether the run is the work of a person on holds.
func (v *View) isMaintenance() bool { return v.start.Maintenance != "" }

func (v *View) changesMembers() bool { return v.start.Cluster != "" }
