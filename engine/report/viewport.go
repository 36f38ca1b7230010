package report

import (
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"holdfast/engine"
)

// viewport is the board on a terminal. It leaves the terminal as it found it at
// every moment: no raw mode, the cursor stays visible, and no mode is set, so
// that even a killed program leaves nothing to be restored.
type viewport struct {
	program *tea.Program
	out     io.Writer
	ended   chan struct{} // closed when the program has ended, whyever
}

// silentEnvironment is an environment in which bubbletea asks the terminal nothing:
// nobody would read the answers, and they would end up in the operator's shell.
var silentEnvironment = []string{"TERM=xterm-256color", "SSH_TTY=none"}

func newViewport(b *liveStatus, out io.Writer, now time.Time) *viewport {
	program := tea.NewProgram(screen{status: b, now: now},
		tea.WithInput(nil), tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithEnvironment(silentEnvironment))
	return &viewport{program: program, out: out, ended: make(chan struct{})}
}

// run shows the board until it is closed. That it ends with an error is no
// reason to stop a run; from then on lines are written as they are.
func (w *viewport) run() {
	defer close(w.ended)
	_, _ = w.program.Run()
}

// showEvent tells the board.
func (w *viewport) showEvent(n liveEvent) {
	select {
	case <-w.ended:
		if n.line != "" {
			_, _ = io.WriteString(w.out, n.line+"\n") // a terminal that has gone away is no reason to stop
		}
		return
	default:
	}
	if n.line != "" {
		w.program.Send(tea.Println(n.line)()) // unlike the program's own Println this never waits for one that has ended
	}
	if n.event.Type != "" {
		w.program.Send(n.event)
	}
}

func (w *viewport) close() {
	w.program.Send(endOfEvents{})
	<-w.ended
}

// userCursorShape makes bubbletea leave the shape of the cursor as the operator likes
// it: with it the style is 0, which is what it takes the terminal to have.
const userCursorShape tea.CursorShape = -1

// endOfEvents ends the board.
type endOfEvents struct{}

// screen is the board as bubbletea wants it.
type screen struct {
	status *liveStatus
	now    time.Time
	size   terminalSize
	ended  bool
}

type tick time.Time

func clockTick() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tick(t) })
}

// Init starts the clock.
func (s screen) Init() tea.Cmd { return clockTick() }

// Update takes an event, the time, the size of the terminal, or the end.
func (s screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case engine.Event:
		s.status.addEvent(m)
	case tick:
		s.now = time.Time(m)
		return s, clockTick()
	case tea.WindowSizeMsg:
		s.size = terminalSize{m.Width, m.Height}
	case endOfEvents:
		s.ended = true
		return s, tea.Quit
	}
	return s, nil
}

// View draws the board; the last frame, when the run is over, is empty.
func (s screen) View() tea.View {
	text := ""
	if s.size.width > 0 && !s.ended {
		text = s.status.renderStatus(s.size, s.now)
	}
	v := tea.NewView(text)
	v.DisableBracketedPasteMode = true
	v.Cursor = &tea.Cursor{Shape: userCursorShape}
	return v
}
