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

// pulseInterval is how long a step may be silent before it tells that it goes
// on. It is a little less than half a minute, so that in tests with virtual time
// it never falls on the moment at which something else happens.
const pulseInterval = 29900 * time.Millisecond

// pulse tells now and then that a step that takes long goes on, and what it
// waits for.
type pulse struct {
	r     *Run
	about engine.Event
	began time.Time

	mu      sync.Mutex
	missing string    // what the step waits for, as last seen
	told    time.Time // when the step last told anything
}

// withPulse runs f, which may take long, and tells meanwhile that it goes on. A
// step whose start says until when it waits needs no more words.
func (r *Run) withPulse(e engine.Event, f func(*pulse) error) error {
	now := r.Clock.Now()
	p := &pulse{r: r, about: e, began: now, told: now}
	if !e.Until.IsZero() {
		return f(p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wait conc.WaitGroup
	wait.Go(func() { p.beat(ctx) })
	defer wait.Wait()
	defer cancel()
	return f(p)
}

// beat tells that the step goes on, whenever it has been silent for too long.
func (p *pulse) beat(ctx context.Context) {
	for {
		silent := p.r.Clock.Now().Sub(p.lastTold())
		if silent < pulseInterval {
			if p.r.Clock.Sleep(ctx, pulseInterval-silent) != nil {
				return
			}
			continue
		}
		p.tell()
	}
}

func (p *pulse) lastTold() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told
}

func (p *pulse) tell() {
	p.mu.Lock()
	p.told = p.r.Clock.Now()
	e := p.about
	e.Type, e.Message, e.Took = engine.StepProgress, p.missing, engine.Duration(p.told.Sub(p.began).Round(time.Second))
	p.mu.Unlock()
	p.r.note(e)
}

// lacks notes what the step waits for.
func (p *pulse) lacks(missing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.missing = textutil.Printable(strings.TrimSpace(missing))
}

// says tells a message of the step now.
func (p *pulse) says(message string) {
	p.lacks(message)
	p.mu.Lock()
	p.told = p.r.Clock.Now()
	e := p.about
	e.Type, e.Message = engine.StepProgress, message
	p.mu.Unlock()
	p.r.note(e)
}
