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
// Below them it shows the live status, from the first step, staging or batch after a plan to the
// end of the run, or to the next plan about which the operator is asked. It reads no input, handles no signals, and sends no
// queries to the terminal. A terminal whose size bubbletea takes for an error shows only lines. View waits for the terminal, so a
// report.Queue stands before it.
type View struct {
	plain  lines.Writer
	status *Status
	out    io.Writer

	mu      sync.Mutex
	planned bool      // there is a plan; the steps after it are approved
	live    *viewport // nil while no live status is shown
	wait    conc.WaitGroup
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
	if l.live != nil {
		l.live.showEvent(strings.TrimSuffix(line, "\n"), safe)
		return nil
	}
	l.status.AddEvent(safe)
	_, err := io.WriteString(l.out, line)
	switch e.Type {
	case event.Planned:
		l.planned = true
	case event.StepStarted:
		if l.planned {
			l.startStatus()
		}
	case event.StageStarted, event.BatchStarted:
		l.startStatus()
	default: // the status waits for work
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
	if !hasPlausibleSize(l.out) {
		return
	}
	l.live = newViewport(l.status, l.out, time.Now())
	l.wait.Go(l.live.run)
	l.live.awaitFrame()
}

func (l *View) stopStatus() {
	if l.live == nil {
		return
	}
	l.live.close()
	l.wait.Wait()
	l.live = nil
}
