package htmlview

import (
	"math"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// spanKind is the state of a host that a bar of the timeline shows.
type spanKind int

const (
	held spanKind = iota
	staged
	waited
	down
	spanKinds
)

// class returns the class of the bar in the styles of the page.
func (k spanKind) class() string { return [spanKinds]string{"h", "s", "w", "d"}[k] }

type span struct {
	kind     spanKind
	from, to time.Time
}

// maxSpans is the number of spans of a drawing that are kept. Further ones join near spans.
const maxSpans = 100

// addSpan adds a span. If there are too many, it joins the two of one kind that are nearest to each other.
func addSpan(spans []span, x span) []span {
	spans = append(spans, x)
	if len(spans) <= maxSpans {
		return spans
	}
	before := [spanKinds]int{} // index of the span before of each kind, plus 1
	first, second, nearest := 0, 0, time.Duration(math.MaxInt64)
	for i, s := range spans {
		if b := before[s.kind] - 1; b >= 0 && s.from.Sub(spans[b].to) < nearest {
			first, second, nearest = b, i, s.from.Sub(spans[b].to)
		}
		before[s.kind] = i + 1
	}
	if spans[second].to.After(spans[first].to) {
		spans[first].to = spans[second].to
	}
	return slices.Delete(spans, second, second+1)
}

// hostTimeline has the states of one host over a run.
type hostTimeline struct {
	spans    []span
	began    [spanKinds]time.Time // begin of the spans that have not ended
	failedAt []time.Time
}

type batch struct {
	number       int
	hosts        []string
	canaries     []string
	began, ended time.Time // ended is zero if the batch has not ended
}

func (h *hostTimeline) beginSpan(k spanKind, at time.Time) {
	if h.began[k].IsZero() {
		h.began[k] = at
	}
}

func (h *hostTimeline) endSpan(k spanKind, at time.Time) {
	if !h.began[k].IsZero() {
		h.spans = addSpan(h.spans, span{k, h.began[k], at})
	}
	h.began[k] = time.Time{}
}

// allSpans returns the spans, also those that have not ended, until that time.
func (h *hostTimeline) allSpans(until time.Time) []span {
	all := h.spans[:len(h.spans):len(h.spans)]
	for k, began := range h.began {
		if !began.IsZero() {
			all = append(all, span{spanKind(k), began, until})
		}
	}
	return all
}

// addStep follows a step of a host, a cluster or a pool. It counts outages as
// package totals does.
func (v *View) addStep(e event.Event) {
	subject := e.Host
	if subject == "" {
		subject = "\x00" + e.Cluster + "\x00" + e.Pool
	}
	switch e.Type {
	case event.StepStarted:
		v.underWay[subject] = e
	case event.StepEnded:
		delete(v.underWay, subject)
	default: // the step continues
	}
	op, waits := v.steps[e.Step]
	if op.Gate != nil || e.Host == "" && (waits || !e.Until.IsZero() || v.waits.isOpen(e)) {
		v.waits.add(e, op.Gate != nil)
	}
	if v.changesMembers() {
		v.addMemberStep(e)
		return
	}
	if e.Type == event.StepEnded && e.Host == "" && e.Failure != nil && e.Failure.Kind != engine.StoppedFailure {
		v.failures.add(e)
	}
	if e.Host != "" && e.Type != event.StepProgress {
		v.hostNamed(e.Host).addStep(e, waits)
	}
}

func (h *hostTimeline) addStep(e event.Event, waits bool) {
	ended := e.Type == event.StepEnded
	passed := ended && e.Failure == nil
	switch {
	case e.Kind == engine.StageStep && ended:
		h.endSpan(staged, e.Time)
	case e.Kind == engine.StageStep:
		h.beginSpan(staged, e.Time)
	case e.Kind == engine.HoldStep && passed:
		h.beginSpan(held, e.Time)
	case e.Kind == engine.ReleaseStep && passed:
		h.endSpan(held, e.Time)
	case e.Kind == engine.RebootStep && ended && e.Failure != nil:
		h.began[down] = time.Time{} // a refused order takes nothing down
	case (e.Kind == engine.RebootStep || e.Kind == engine.BootStep) && !ended:
		h.beginSpan(down, e.Time)
	case e.Kind == engine.BootStep && passed:
		h.endSpan(down, e.Time)
	case waits && ended:
		h.endSpan(waited, e.Time)
	case waits:
		h.beginSpan(waited, e.Time)
	}
}

// maxMemberSteps is the number of steps of a change of members that are shown.
const maxMemberSteps = 3000

func (v *View) addMemberStep(e event.Event) {
	if e.Type != event.StepEnded {
		return
	}
	if e.Failure != nil {
		v.failures.add(e)
	}
	if len(v.memberSteps) == maxMemberSteps {
		v.lostSteps++
		return
	}
	v.memberSteps = append(v.memberSteps, e)
}
