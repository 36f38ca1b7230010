package totals

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// times collects how long the staging and the batch of each host took, and the
// gaps before batches.
type times struct {
	play    string
	staging bool // the staging phase is under way
	hosts   map[hostPlay]*hostTimes
	ended   time.Time       // end of the staging or of the last batch; zero: none, or one is under way
	waited  engine.Duration // steps since then that only wait for a time, such as soaks
	waits   map[string]bool // such steps that are under way, by name
	gaps    []engine.Duration
}

// hostPlay names a host in a play. A run without a playbook has one play, without a name.
type hostPlay struct{ host, play string }

type hostTimes struct {
	engine.HostTimes
	failed  bool      // its staging has failed
	inBatch bool      // its batch has started
	began   time.Time // first step of its batch
}

func (t *times) addEvent(e event.Event) {
	switch e.Type {
	case event.Planned:
		if e.Plan != nil && e.Plan.Play != t.play { // the time between two plays is no gap: a person may think about the next one
			t.play, t.ended = e.Plan.Play, time.Time{}
		}
	case event.StageStarted:
		t.staging, t.ended = true, time.Time{}
	case event.StageEnded:
		t.staging = false
		t.beginGap(e.Time)
	case event.BatchStarted:
		if !t.ended.IsZero() {
			t.gaps = append(t.gaps, max(engine.Duration(e.Time.Sub(t.ended))-t.waited, 0))
		}
		t.ended = time.Time{}
		for _, host := range e.Hosts {
			h := t.hostNamed(host)
			h.inBatch, h.began, h.Batch, h.Reboot = true, time.Time{}, 0, ""
		}
	case event.BatchEnded:
		t.beginGap(e.Time)
	case event.StepStarted, event.StepEnded:
		t.addStep(e)
	case event.HostDone:
		if h := t.hosts[hostPlay{e.Host, t.play}]; h != nil && h.inBatch && !h.began.IsZero() {
			h.Batch, h.inBatch = engine.Duration(max(e.Time.Sub(h.began), 0)), false
		}
	case event.HostFailed:
		if h := t.hosts[hostPlay{e.Host, t.play}]; h != nil {
			h.inBatch = false
		}
	default:
	}
}

func (t *times) beginGap(at time.Time) { t.ended, t.waited, t.waits = at, 0, map[string]bool{} }

func (t *times) addStep(e event.Event) {
	started := e.Type == event.StepStarted
	if e.Host == "" {
		switch {
		case t.ended.IsZero():
		case started && !e.Until.IsZero():
			t.waits[e.Step] = true
		case !started && t.waits[e.Step]:
			delete(t.waits, e.Step)
			t.waited += e.Took
		}
		return
	}
	h := t.hostNamed(e.Host)
	switch {
	case h.inBatch && started:
		if h.began.IsZero() {
			h.began = e.Time
		}
		if e.Kind == engine.RebootStep {
			h.Reboot = kindOf(e.Reboot)
		}
	case t.staging && !started:
		h.Staging += e.Took
		h.failed = h.failed || e.Failure != nil
	}
}

func kindOf(r *engine.Reboot) engine.RebootKind {
	if r == nil || r.Kind == "" {
		return engine.FullReboot
	}
	return r.Kind
}

func (t *times) hostNamed(name string) *hostTimes {
	if t.hosts == nil {
		t.hosts = map[hostPlay]*hostTimes{}
	}
	key := hostPlay{name, t.play}
	if t.hosts[key] == nil {
		t.hosts[key] = &hostTimes{HostTimes: engine.HostTimes{Host: name, Play: t.play}}
	}
	return t.hosts[key]
}

// list returns the times of each host that has any, by name and play.
func (t *times) list() (all []engine.HostTimes) {
	order := func(a, b hostPlay) int { return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.play, b.play)) }
	for _, key := range slices.SortedFunc(maps.Keys(t.hosts), order) {
		h := *t.hosts[key]
		if h.failed {
			h.Staging = 0
		}
		if h.Batch == 0 {
			h.Reboot = ""
		}
		if h.Staging > 0 || h.Batch > 0 {
			all = append(all, h.HostTimes)
		}
	}
	return all
}

// meanGap returns the mean of the gaps between batches, 0 without any.
func (t *times) meanGap() engine.Duration {
	if len(t.gaps) == 0 {
		return 0
	}
	var sum engine.Duration
	for _, g := range t.gaps {
		sum += g
	}
	return sum / engine.Duration(len(t.gaps))
}
