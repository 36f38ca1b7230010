package rollout

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/latency"
	"holdfast/engine/textutil"
	"holdfast/engine/totals"
)

// emitter numbers events, keeps the first error of the sink, and sums up the latencies
// of etcd and the figures of hosts.
type emitter struct {
	mu    sync.Mutex
	seq   int
	err   error
	tally latency.Tally
	sums  totals.Tally
}

func (e *emitter) firstError() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// emitEvent passes an event to the sink and returns the first error of the
// sink. After an error the run stops at its next step. Until then the sink
// still gets all events.
func (r *Run) emitEvent(e event.Event) error {
	r.events.mu.Lock()
	defer r.events.mu.Unlock()
	r.events.seq++
	e.Schema, e.Seq, e.Run, e.Time = event.Schema, r.events.seq, r.ID, r.Clock.Now()
	r.events.tally.AddEvent(e)
	r.events.sums.AddEvent(e)
	err := r.Sink.Emit(e)
	if r.events.err == nil {
		r.events.err = err
	}
	return r.events.err
}

// addFigures adds the sums over all events to the end of a run.
func (e *emitter) addFigures(end *event.RunEnd) {
	e.mu.Lock()
	defer e.mu.Unlock()
	end.Latency, end.Hosts, end.Clusters = e.tally.Members(), e.sums.Hosts(), e.sums.Clusters()
}

func (r *Run) noteEvent(e event.Event) { _ = r.emitEvent(e) }

func (r *Run) emitWarning(message string) {
	r.noteEvent(event.Event{Type: event.Warned, Message: message})
}

// runBetweenEvents begins f only after the started event is written.
func (r *Run) runBetweenEvents(e event.Event, f func(*stepHeartbeat) error) *engine.Failure {
	e.Type = event.StepStarted
	if err := r.emitEvent(e); err != nil {
		return &engine.Failure{Host: e.Host, Step: e.Step, Cause: err.Error(), Kind: engine.JournalFailure}
	}
	failure := r.runAndEmitEnd(e, f)
	if err := r.events.firstError(); err != nil && failure == nil {
		return &engine.Failure{Host: e.Host, Step: e.Step, Cause: err.Error(), Kind: engine.JournalFailure}
	}
	return failure
}

func (r *Run) runAndEmitEnd(e event.Event, f func(*stepHeartbeat) error) *engine.Failure {
	began := r.Clock.Now()
	e.Type = event.StepProgress
	failure := asFailure(r.runWithHeartbeat(e, f), e.Host, e.Step)
	e.Type, e.Took, e.Failure, e.Until = event.StepEnded, engine.Duration(r.Clock.Now().Sub(began).Round(time.Millisecond)), failure, time.Time{}
	r.noteEvent(e)
	return failure
}

// heartbeatInterval is how long a step may be silent before it reports that it
// continues. The interval is a little less than half a minute, so that a
// heartbeat never coincides with another event in tests with virtual time.
const heartbeatInterval = 29900 * time.Millisecond

// stepHeartbeat reports from time to time that a long step continues, and the
// condition that it waits for.
type stepHeartbeat struct {
	r     *Run
	about event.Event
	began time.Time

	mu         sync.Mutex
	missing    string    // the condition that the step waits for
	reportedAt time.Time // time of the last report
}

func (r *Run) runWithHeartbeat(e event.Event, f func(*stepHeartbeat) error) error {
	now := r.Clock.Now()
	p := &stepHeartbeat{r: r, about: e, began: now, reportedAt: now}
	if !e.Until.IsZero() {
		return f(p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wait conc.WaitGroup
	wait.Go(func() { p.reportWhileSilent(ctx) })
	defer wait.Wait()
	defer cancel()
	return f(p)
}

func (p *stepHeartbeat) reportWhileSilent(ctx context.Context) {
	for {
		silent := p.r.Clock.Now().Sub(p.lastReport())
		if silent < heartbeatInterval {
			if p.r.Clock.Sleep(ctx, heartbeatInterval-silent) != nil {
				return
			}
			continue
		}
		p.emitProgress()
	}
}

func (p *stepHeartbeat) lastReport() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reportedAt
}

func (p *stepHeartbeat) emitProgress() {
	p.mu.Lock()
	p.reportedAt = p.r.Clock.Now()
	e := p.about
	e.Type, e.Message, e.Took = event.StepProgress, p.missing, engine.Duration(p.reportedAt.Sub(p.began).Round(time.Second))
	p.mu.Unlock()
	p.r.noteEvent(e)
}

func (p *stepHeartbeat) setMissing(missing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.missing = textutil.Printable(strings.TrimSpace(missing))
}

func (p *stepHeartbeat) reportTransfer(progress event.Progress) {
	p.mu.Lock()
	p.reportedAt = p.r.Clock.Now()
	e := p.about
	e.Type, e.Progress, e.Took = event.StepProgress, &progress, engine.Duration(p.reportedAt.Sub(p.began).Round(time.Second))
	p.mu.Unlock()
	p.r.noteEvent(e)
}

func (p *stepHeartbeat) reportMessage(message string) {
	p.setMissing(message)
	p.mu.Lock()
	p.reportedAt = p.r.Clock.Now()
	e := p.about
	e.Type, e.Message = event.StepProgress, message
	p.mu.Unlock()
	p.r.noteEvent(e)
}
