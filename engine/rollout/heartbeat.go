package rollout

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/textutil"
)

// heartbeatInterval is how long a step may be silent before it reports that it
// continues. The interval is a little less than half a minute, so that a
// heartbeat never coincides with another event in tests with virtual time.
const heartbeatInterval = 29900 * time.Millisecond

// stepHeartbeat reports from time to time that a long step continues, and the
// condition that it waits for.
type stepHeartbeat struct {
	events *emitter
	about  event.Event
	began  time.Time

	mu         sync.Mutex
	missing    string    // the condition that the step waits for
	reportedAt time.Time // time of the last report
}

func (m *emitter) runWithHeartbeat(e event.Event, f func(*stepHeartbeat) error) error {
	now := m.clock.Now()
	p := &stepHeartbeat{events: m, about: e, began: now, reportedAt: now}
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
		silent := p.events.clock.Now().Sub(p.lastReport())
		if silent < heartbeatInterval {
			if p.events.clock.Sleep(ctx, heartbeatInterval-silent) != nil {
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
	p.reportedAt = p.events.clock.Now()
	e := p.about
	e.Type, e.Message, e.Took = event.StepProgress, p.missing, engine.Duration(p.reportedAt.Sub(p.began).Round(time.Second))
	p.mu.Unlock()
	p.events.noteEvent(e)
}

func (p *stepHeartbeat) setMissing(missing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.missing = textutil.Printable(strings.TrimSpace(missing))
}

func (p *stepHeartbeat) reportTransfer(progress event.Progress) {
	p.mu.Lock()
	p.reportedAt = p.events.clock.Now()
	e := p.about
	e.Type, e.Progress, e.Took = event.StepProgress, &progress, engine.Duration(p.reportedAt.Sub(p.began).Round(time.Second))
	p.mu.Unlock()
	p.events.noteEvent(e)
}

func (p *stepHeartbeat) reportMessage(message string) {
	p.setMissing(message)
	p.mu.Lock()
	p.reportedAt = p.events.clock.Now()
	e := p.about
	e.Type, e.Message = event.StepProgress, message
	p.mu.Unlock()
	p.events.noteEvent(e)
}
