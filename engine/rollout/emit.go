package rollout

import (
	"sync"
	"time"

	"holdfast/engine"
)

// emitter numbers events and keeps the first error of the sink.
type emitter struct {
	mu  sync.Mutex
	seq int
	err error
}

// failed is the first error of the sink.
func (e *emitter) failed() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// emit sends an event. After an error the run stops at the next step; the sink
// still gets what happens until then, for who watches.
func (r *Run) emit(e engine.Event) error {
	r.events.mu.Lock()
	defer r.events.mu.Unlock()
	r.events.seq++
	e.Schema, e.Seq, e.Run, e.Time = engine.EventSchema, r.events.seq, r.ID, r.Clock.Now()
	err := r.Sink.Emit(e)
	if r.events.err == nil {
		r.events.err = err
	}
	return r.events.err
}

// note emits an event whose loss is noticed at the next step.
func (r *Run) note(e engine.Event) { _ = r.emit(e) }

func (r *Run) warn(message string) { r.note(engine.Event{Type: engine.Warned, Message: message}) }

// timed runs f between a started and an ended event of a step. The started
// event is written before f begins.
func (r *Run) timed(e engine.Event, f func(*pulse) error) *engine.Failure {
	e.Type = engine.StepStarted
	if err := r.emit(e); err != nil {
		return &engine.Failure{Host: e.Host, Step: e.Step, Cause: err.Error(), Kind: KindJournal}
	}
	failure := r.ending(e, f)
	if err := r.events.failed(); err != nil && failure == nil {
		return &engine.Failure{Host: e.Host, Step: e.Step, Cause: err.Error(), Kind: KindJournal}
	}
	return failure
}

// ending runs f and emits the ended event of its step.
func (r *Run) ending(e engine.Event, f func(*pulse) error) *engine.Failure {
	began := r.Clock.Now()
	e.Type = engine.StepProgress
	failure := asFailure(r.withPulse(e, f), e.Host, e.Step)
	e.Type, e.Took, e.Failure, e.Until = engine.StepEnded, engine.Duration(r.Clock.Now().Sub(began).Round(time.Millisecond)), failure, time.Time{}
	r.note(e)
	return failure
}
