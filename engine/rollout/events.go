package rollout

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/totals"
)

// emitter numbers the events of a run, keeps the first error of the sink, and sums up the figures of hosts
// and etcd clusters.
type emitter struct {
	run   string
	sink  Sink
	clock Clock

	mu   sync.Mutex
	seq  int
	err  error
	sums totals.Tally
}

func newEmitter(r *Run) *emitter { return &emitter{run: r.ID, sink: r.Sink, clock: r.Clock} }

func (m *emitter) firstError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// emitEvent passes an event to the sink and returns the first error of the
// sink. After an error the run stops at its next step. Until then the sink
// still gets all events.
func (m *emitter) emitEvent(e event.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seq++
	e = ownEvent(e)
	e.Schema, e.Seq, e.Run, e.Time = event.Schema, m.seq, m.run, m.clock.Now()
	m.sums.AddEvent(e)
	err := m.sink.Emit(e)
	if m.err == nil {
		m.err = err
	}
	return m.err
}

// ownEvent copies the values that its caller may still change. From then on, nobody changes an event.
func ownEvent(e event.Event) event.Event {
	if e.Failure != nil {
		f := *e.Failure
		e.Failure = &f
	}
	if e.Plan != nil {
		p := *e.Plan
		e.Plan = &p
	}
	if e.End != nil {
		end := *e.End
		e.End = &end
	}
	return e
}

// addFigures adds the sums over all events to the end of a run.
func (m *emitter) addFigures(end *event.RunEnd) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sums.AddTo(end)
}

func (m *emitter) noteEvent(e event.Event) { _ = m.emitEvent(e) }

func (m *emitter) emitWarning(message string) {
	m.noteEvent(event.Event{Type: event.Warned, Message: message})
}

// runBetweenEvents begins f only after the started event is written.
func (m *emitter) runBetweenEvents(e event.Event, f func(*stepHeartbeat) error) *engine.Failure {
	limit := e.Limit
	e.Type, e.Limit = event.StepStarted, 0
	if err := m.emitEvent(e); err != nil {
		return &engine.Failure{Host: e.Host, Step: e.Step, Cause: err.Error(), Kind: engine.JournalFailure}
	}
	e.Limit = limit
	failure := m.runAndEmitEnd(e, f)
	if err := m.firstError(); err != nil && failure == nil {
		return &engine.Failure{Host: e.Host, Step: e.Step, Cause: err.Error(), Kind: engine.JournalFailure}
	}
	return failure
}

func (m *emitter) runAndEmitEnd(e event.Event, f func(*stepHeartbeat) error) *engine.Failure {
	began := m.clock.Now()
	e.Type = event.StepProgress
	failure := asFailure(m.runWithHeartbeat(e, f), e.Host, e.Step)
	e.Type, e.Took, e.Failure, e.Until = event.StepEnded, engine.Duration(m.clock.Now().Sub(began).Round(time.Millisecond)), failure, time.Time{}
	e.Limit = 0
	m.noteEvent(e)
	return failure
}

// errStopped is the cause of failures after the operator stopped the run.
var errStopped = errors.New("stopped by the operator")

func asFailure(err error, host, step string) *engine.Failure {
	if err == nil {
		return nil
	}
	var f *engine.Failure
	if !errors.As(err, &f) {
		f = &engine.Failure{Cause: err.Error()}
		if errors.Is(err, context.Canceled) {
			f.Kind = engine.StoppedFailure
		}
	}
	whole := *f
	if whole.Host == "" {
		whole.Host = host
	}
	if whole.Step == "" {
		whole.Step = step
	}
	// Some scripts begin their message with the name of the step.
	whole.Cause = contextErrors.Replace(strings.TrimPrefix(whole.Cause, whole.Step+": "))
	return &whole
}

// contextErrors replaces the texts of package context.
var contextErrors = strings.NewReplacer(context.Canceled.Error(), errStopped.Error(), context.DeadlineExceeded.Error(), "no answer in time")
