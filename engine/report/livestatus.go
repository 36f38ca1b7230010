package report

import (
	"slices"
	"time"

	"holdfast/engine"
)

// liveStatus is the part of the live view below the lines: progress of pools, active steps and etcd clusters.
// It is computed from events alone.
type liveStatus struct {
	pools    []*poolCount
	poolOf   map[string]*poolCount
	active   map[string]activeStep
	held     map[string]bool // hosts that are held, or about to be
	clusters etcdWatches
	style    Style
}

type poolCount struct {
	name                 string
	hosts, toStage       int
	staged, done, failed int
}

// activeStep is the current step of a host or a cluster.
type activeStep struct {
	name, message string // message: of the last progress
	calm          bool   // disrupts nothing: staging, or a host without a hold
	since         time.Time
	until         time.Time // end of a waiting step; else zero
}

func newLiveStatus(style Style) *liveStatus {
	return &liveStatus{poolOf: map[string]*poolCount{}, active: map[string]activeStep{}, held: map[string]bool{}, clusters: etcdWatches{}, style: style}
}

func (b *liveStatus) addEvent(e engine.Event) {
	e = withSafeTexts(e)
	b.clusters.addEvent(e)
	switch e.Type {
	case engine.Planned:
		if e.Plan != nil {
			b.setPlan(*e.Plan)
		}
	case engine.StepStarted:
		if e.Kind == engine.HoldStep {
			b.held[e.Host] = true
		}
		calm := e.Kind == engine.StageStep || e.Host != "" && !b.held[e.Host]
		b.active[eventSubject(e)] = activeStep{name: e.Step, since: e.Time, until: e.Until, calm: calm}
	case engine.StepProgress:
		if a, ok := b.active[eventSubject(e)]; ok && a.name == e.Step && e.Message != "" {
			a.message = e.Message
			b.active[eventSubject(e)] = a
		}
	case engine.StepEnded:
		delete(b.active, eventSubject(e))
		if e.Kind == engine.StageStep && e.Failure == nil {
			b.updatePool(e.Host, func(p *poolCount) { p.staged++ })
		}
	case engine.HostDone, engine.HostFailed:
		b.addHostEnd(e)
	}
}

// addHostEnd counts the end of a host. A host that stopped for the operator or for the hold of somebody else
// has not failed.
func (b *liveStatus) addHostEnd(e engine.Event) {
	delete(b.active, eventSubject(e))
	switch {
	case e.Type == engine.HostDone:
		b.updatePool(e.Host, func(p *poolCount) { p.done++ })
	case e.Failure == nil || e.Failure.Kind != engine.StoppedFailure && e.Failure.Kind != engine.HeldFailure:
		b.updatePool(e.Host, func(p *poolCount) { p.failed++ })
	}
}

func (b *liveStatus) updatePool(host string, add func(*poolCount)) {
	if p := b.poolOf[host]; p != nil {
		add(p)
	}
}

func eventSubject(e engine.Event) string {
	switch {
	case e.Host != "":
		return e.Host
	case e.Cluster != "":
		return e.Cluster
	case e.Pool != "":
		return "pool " + e.Pool
	}
	return engine.Bastion
}

// setPlan replaces the pools by the pools of a plan, of the whole run or of a play. Hosts that wait for their
// window are only staged.
func (b *liveStatus) setPlan(p engine.Plan) {
	byName := map[string]*poolCount{}
	b.pools, b.poolOf = nil, map[string]*poolCount{}
	later := map[string]bool{}
	for _, x := range p.Excluded {
		later[x.Host] = x.Kind == engine.Closed
	}
	for _, hp := range p.Hosts {
		c := byName[hp.Pool]
		if c == nil {
			c = &poolCount{name: hp.Pool}
			byName[hp.Pool] = c
			b.pools = append(b.pools, c)
		}
		if !later[hp.Host] {
			c.hosts++
		}
		if len(hp.Stage) > 0 {
			c.toStage++
		}
		b.poolOf[hp.Host] = c
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
