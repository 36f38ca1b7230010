package report

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
)

// Live shows a run on a terminal: lines that stay, as Plain writes them but
// without each step, and below them a board of what goes on now. The board is
// there from the first staging or batch to the end of the run. It reads no
// input, catches no signal, and asks the terminal nothing: all that is the
// program's business. While the board is there a terminal that does not take
// what is written, as after Ctrl-S, does not hold up the run.
type Live struct {
	plain  Plain
	status *liveStatus
	out    io.Writer

	mu   sync.Mutex
	feed *eventFeed // while the board is there
	wait conc.WaitGroup
}

// NewLive shows a run on out, which is a terminal.
func NewLive(out io.Writer, style Style, showPlan bool) *Live {
	return &Live{plain: Plain{W: out, Style: style, Plan: showPlan, Terse: true}, status: newLiveStatus(style), out: out}
}

// Emit shows an event.
func (l *Live) Emit(e engine.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Type == engine.RunEnded {
		l.stopStatus()
	}
	line := l.plain.eventLine(e)
	if l.feed != nil {
		l.feed.putEvent(liveEvent{line: strings.TrimSuffix(line, "\n"), event: e})
		return nil
	}
	l.status.addEvent(e)
	_, err := io.WriteString(l.out, line)
	if e.Type == engine.StageStarted || e.Type == engine.BatchStarted {
		l.startStatus()
	}
	return err
}

// Close takes the board away, whatever became of the run. It may be called
// more than once.
func (l *Live) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopStatus()
}

func (l *Live) startStatus() {
	l.feed = newEventFeed()
	window := newViewport(l.status, l.out, time.Now())
	feed := l.feed
	l.wait.Go(window.run)
	l.wait.Go(func() { feed.forwardTo(window) })
}

func (l *Live) stopStatus() {
	if l.feed == nil {
		return
	}
	l.feed.endFeed()
	l.wait.Wait()
	l.feed = nil
}

// liveEvent is what the board is told: an event, and its line that stays, if it has one.
type liveEvent struct {
	line  string
	event engine.Event
}

// eventFeed keeps news in order until the board takes them. Putting never waits.
type eventFeed struct {
	mu    sync.Mutex
	more  *sync.Cond
	list  []liveEvent
	ended bool
}

func newEventFeed() *eventFeed {
	f := &eventFeed{}
	f.more = sync.NewCond(&f.mu)
	return f
}

func (f *eventFeed) putEvent(n liveEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, n)
	f.more.Signal()
}

func (f *eventFeed) endFeed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.more.Signal()
}

// takeEvents gives what there is, waiting for it; nothing means that it has ended.
func (f *eventFeed) takeEvents() []liveEvent {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.list) == 0 && !f.ended {
		f.more.Wait()
	}
	list := f.list
	f.list = nil
	return list
}

// forwardTo gives everything to the window, and then ends it.
func (f *eventFeed) forwardTo(w *viewport) {
	for list := f.takeEvents(); len(list) > 0; list = f.takeEvents() {
		for _, n := range list {
			w.showEvent(n)
		}
	}
	w.close()
}
