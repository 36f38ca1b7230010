package live

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine/event"
	"holdfast/engine/report/lines"
	"holdfast/engine/report/termtext"
)

// View shows a run on a terminal. It writes the lines of a terse lines.Writer.
// Below them it shows the live status, from the first staging or batch to the
// end of the run, or to the next plan about which the operator is asked. It reads no input, handles no signals, and sends no queries
// to the terminal. If the terminal accepts no output during the live status, as
// after Ctrl-S, the run continues.
type View struct {
	plain  lines.Writer
	status *Status
	out    io.Writer

	mu   sync.Mutex
	feed *eventFeed // nil while no live status is shown
	wait conc.WaitGroup
}

// New returns a View that shows a run on out, which must be a terminal.
func New(out io.Writer, style termtext.Style, showPlan bool) *View {
	return &View{plain: lines.Writer{W: out, Style: style, Plan: showPlan, Terse: true}, status: NewStatus(style), out: out}
}

// Emit shows an event.
func (l *View) Emit(e event.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Type == event.RunEnded || e.Type == event.Planned && l.asksOperator() {
		l.stopStatus()
	}
	safe := termtext.SafeEvent(e)
	line := l.plain.EventLine(safe, e.Plan)
	if l.feed != nil {
		l.feed.putEvent(liveEvent{line: strings.TrimSuffix(line, "\n"), event: safe})
		return nil
	}
	l.status.AddEvent(safe)
	_, err := io.WriteString(l.out, line)
	if e.Type == event.StageStarted || e.Type == event.BatchStarted {
		l.startStatus()
	}
	return err
}

// asksOperator reports whether somebody shows each plan and asks the operator about it, below the lines.
func (l *View) asksOperator() bool { return !l.plain.Plan }

// Close removes the live status. It may be called more than once.
func (l *View) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopStatus()
}

func (l *View) startStatus() {
	l.feed = newEventFeed()
	view := newViewport(l.status, l.out, time.Now())
	feed := l.feed
	l.wait.Go(view.run)
	l.wait.Go(func() { feed.forwardTo(view) })
}

func (l *View) stopStatus() {
	if l.feed == nil {
		return
	}
	l.feed.endFeed()
	l.wait.Wait()
	l.feed = nil
}

// liveEvent is an event for the live status, and the line to print above the
// status, or "".
type liveEvent struct {
	line  string
	event event.Event
}

// eventFeed queues events for the viewport, in order and without a limit.
// putEvent never waits.
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

// takeEvents waits for events. An empty list means that the feed has ended.
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

func (f *eventFeed) forwardTo(w *viewport) {
	for list := f.takeEvents(); len(list) > 0; list = f.takeEvents() {
		for _, n := range list {
			w.showEvent(n)
		}
	}
	w.close()
}
