package rollout

import (
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/latency"
)

// emitter numbers events, keeps the first error of the sink, and sums up the latencies of etcd.
type emitter struct {
	mu    sync.Mutex
	seq   int
	err   error
	tally latency.Tally
}

func (e *emitter) firstError() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// emitEvent returns the first error of the sink, and the run stops at its next step. Until then the
// sink still gets all events.
func (r *Run) emitEvent(e engine.Event) error {
	r.events.mu.Lock()
	defer r.events.mu.Unlock()
	r.events.seq++
	e.Schema, e.Seq, e.Run, e.Time = engine.EventSchema, r.events.seq, r.ID, r.Clock.Now()
	r.events.tally.AddEvent(e)
	err := r.Sink.Emit(e)
	if r.events.err == nil {
		r.events.err = err
	}
	return r.events.err
}

func (e *emitter) latencies() []engine.MemberLatency {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tally.Members()
}

func (r *Run) noteEvent(e engine.Event) { _ = r.emitEvent(e) }

func (r *Run) emitWarning(message string) {
	r.noteEvent(engine.Event{Type: engine.Warned, Message: message})
}

// runBetweenEvents runs f between the started and the ended event of a step. f begins only when the
// started event is written.
func (r *Run) runBetweenEvents(e engine.Event, f func(*stepHeartbeat) error) *engine.Failure {
	e.Type = engine.StepStarted
	if err := r.emitEvent(e); err != nil {
		return &engine.Failure{Host: e.Host, Step: e.Step, Cause: err.Error(), Kind: KindJournal}
	}
	failure := r.runAndEmitEnd(e, f)
	if err := r.events.firstError(); err != nil && failure == nil {
		return &engine.Failure{Host: e.Host, Step: e.Step, Cause: err.Error(), Kind: KindJournal}
	}
	return failure
}

func (r *Run) runAndEmitEnd(e engine.Event, f func(*stepHeartbeat) error) *engine.Failure {
	began := r.Clock.Now()
	e.Type = engine.StepProgress
	failure := asFailure(r.runWithHeartbeat(e, f), e.Host, e.Step)
	e.Type, e.Took, e.Failure, e.Until = engine.StepEnded, engine.Duration(r.Clock.Now().Sub(began).Round(time.Millisecond)), failure, time.Time{}
	r.noteEvent(e)
	return failure
}
