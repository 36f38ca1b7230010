package rollout

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// heartbeatInterval is how long a step may be silent before it reports that it goes on. It is a
// little less than half a minute, so that it never coincides with another event in tests with
// virtual time.
const heartbeatInterval = 29900 * time.Millisecond

// stepHeartbeat reports from time to time that a long step goes on, and the thing it waits for.
type stepHeartbeat struct {
	r     *Run
	about engine.Event
	began time.Time

	mu         sync.Mutex
	missing    string    // the condition that the step waits for
	reportedAt time.Time // time of the last report
}

func (r *Run) runWithHeartbeat(e engine.Event, f func(*stepHeartbeat) error) error {
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
	e.Type, e.Message, e.Took = engine.StepProgress, p.missing, engine.Duration(p.reportedAt.Sub(p.began).Round(time.Second))
	p.mu.Unlock()
	p.r.noteEvent(e)
}

func (p *stepHeartbeat) setMissing(missing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.missing = textutil.Printable(strings.TrimSpace(missing))
}

// reportTransfer reports the progress of a transfer from the bastion.
func (p *stepHeartbeat) reportTransfer(progress engine.Progress) {
	p.mu.Lock()
	p.reportedAt = p.r.Clock.Now()
	e := p.about
	e.Type, e.Progress, e.Took = engine.StepProgress, &progress, engine.Duration(p.reportedAt.Sub(p.began).Round(time.Second))
	p.mu.Unlock()
	p.r.noteEvent(e)
}

func (p *stepHeartbeat) reportMessage(message string) {
	p.setMissing(message)
	p.mu.Lock()
	p.reportedAt = p.r.Clock.Now()
	e := p.about
	e.Type, e.Message = engine.StepProgress, message
	p.mu.Unlock()
	p.r.noteEvent(e)
}
