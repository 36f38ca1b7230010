package live

import (
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/termtext"
	"holdfast/engine/report/voters"
)

// Status is the part of the live view below the lines: the progress of pools,
// active steps and etcd clusters. It is made from events alone.
type Status struct {
	pools    []*poolCount
	poolOf   map[string]*poolCount
	active   map[string]activeStep
	held     map[string]bool // hosts that are held, or are about to be held
	clusters voters.Watches
	forecast endForecast
	style    termtext.Style
}

type poolCount struct {
	name                 string
	hosts, toStage       int
	staged, done, failed int
}

// activeStep is the current step of a host or a cluster.
type activeStep struct {
	name, message string // message is the message of the last progress event
	calm          bool   // the step disrupts nothing: a staging, or a step of a host without a hold
	since         time.Time
	until         time.Time // end of a waiting step; otherwise zero
}

// NewStatus returns the status of a run that has not begun.
func NewStatus(style termtext.Style) *Status {
	return &Status{poolOf: map[string]*poolCount{}, active: map[string]activeStep{}, held: map[string]bool{}, clusters: voters.Watches{}, style: style}
}

// AddEvent updates the status with an event from termtext.SafeEvent.
func (b *Status) AddEvent(e event.Event) {
	b.forecast.addEvent(e)
	subject := e.Subject()
	switch e.Type {
	case event.Planned:
		if e.Plan != nil {
			b.setPlan(*e.Plan)
		}
	case event.StepStarted:
		if e.Kind == engine.HoldStep {
			b.held[e.Host] = true
		}
		calm := e.Kind == engine.StageStep || e.Host != "" && !b.held[e.Host]
		b.active[subject] = activeStep{name: e.Step, since: e.Time, until: e.Until, calm: calm}
	case event.StepProgress:
		if a, ok := b.active[subject]; ok && a.name == e.Step && (e.Message != "" || e.Progress != nil) {
			a.message = e.Message
			if e.Progress != nil {
				a.message = termtext.FormatTransfer(*e.Progress)
			}
			b.active[subject] = a
		}
	case event.StepEnded:
		delete(b.active, subject)
		if e.Kind == engine.StageStep && e.Failure == nil {
			b.updatePool(e.Host, func(p *poolCount) { p.staged++ })
		}
	case event.HostDone:
		delete(b.active, subject)
		b.updatePool(e.Host, func(p *poolCount) { p.done++ })
	case event.HostFailed:
		delete(b.active, subject)
		if e.Failure == nil || e.Failure.Kind != engine.StoppedFailure && e.Failure.Kind != engine.HeldFailure { // nobody stopped the host, or holds it
			b.updatePool(e.Host, func(p *poolCount) { p.failed++ })
		}
	default: // the other events do not change pools and steps
	}
	b.clusters.AddEvent(e)
}

func (b *Status) updatePool(host string, add func(*poolCount)) {
	if p := b.poolOf[host]; p != nil {
		add(p)
	}
}

// setPlan replaces the pools by the pools of a plan, for the whole run or for a
// play. Hosts that wait for their window are only staged.
func (b *Status) setPlan(p engine.Plan) {
	byName := map[string]*poolCount{}
	b.pools, b.poolOf = nil, map[string]*poolCount{}
	b.active, b.clusters = map[string]activeStep{}, voters.Watches{} // those of the play before are over
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

// endForecast is the forecast of a run that is under way. It moves with the
// delays of the run: each batch shows how much earlier or later than the
// forecast the run is.
type endForecast struct {
	made    *engine.Forecast // nil: none
	planned time.Time
	before  int // batches of the run before the plan: a forecast counts those of its play, and an event those of the run
	batches int // batches of the run until now
	begun   bool
	delay   time.Duration
}

// addEvent takes the forecast of a plan, and follows the run.
func (f *endForecast) addEvent(e event.Event) {
	switch e.Type {
	case event.Planned:
		*f = endForecast{planned: e.Time, before: f.batches, batches: f.batches}
		if e.Plan != nil && e.Plan.Forecast != nil && e.Plan.Forecast.Known {
			f.made = e.Plan.Forecast
		}
	case event.StageStarted: // the operator may have thought for a while
		if f.made != nil && !f.begun {
			f.delay = e.Time.Sub(f.planned)
		}
		f.begun = true
	case event.BatchStarted:
		f.begun, f.batches = true, e.Batch
		n := e.Batch - f.before
		if f.made == nil || n < 1 || n > len(f.made.Batches) {
			return
		}
		if b := f.made.Batches[n-1]; !b.MissesWindow {
			f.delay = e.Time.Sub(b.Begins)
		}
	default: // the other events do not tell how late the run is
	}
}

// expectedEnd returns when the run will end, or the zero time if nobody knows.
func (f *endForecast) expectedEnd() time.Time {
	if f.made == nil || f.made.Ends.IsZero() {
		return time.Time{}
	}
	return f.made.Ends.Add(f.delay)
}

// formatForecast returns a line about the end of the run, or "".
func (f *endForecast) formatForecast(now time.Time) string {
	ends := f.expectedEnd().UTC()
	switch {
	case ends.IsZero():
		return ""
	case ends.Before(now):
		return "forecast: later than in earlier runs"
	case ends.Sub(now) < 20*time.Hour:
		return "forecast: until " + ends.Format("15:04 UTC") + ", " + formatElapsed(now, ends) + " left"
	}
	return "forecast: until " + ends.Format("Mon 2006-01-02 15:04 UTC")
}
