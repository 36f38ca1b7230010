package live

import (
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"holdfast/engine/event"
)

// viewport shows the live status on a terminal. It sets no mode, such as raw
// mode or a hidden cursor, so that even a killed program leaves a usable
// terminal.
type viewport struct {
	program  *tea.Program
	out      io.Writer
	terminal *terminalState
	ended    chan struct{} // closed when the program has ended
}

// silentEnvironment makes bubbletea send no queries to the terminal. Nobody
// would read the answers, so they would appear in the shell of the operator.
var silentEnvironment = []string{"TERM=xterm-256color", "SSH_TTY=none"}

func newViewport(b *Status, out io.Writer, now time.Time) *viewport {
	t := &terminalState{sized: make(chan struct{}), drawn: make(chan struct{})}
	return &viewport{program: newProgram(screen{status: b, now: now, terminal: t}, t.watchDrawing(out)), out: out, terminal: t, ended: make(chan struct{})}
}

func newProgram(model tea.Model, out io.Writer) *tea.Program {
	return tea.NewProgram(model, tea.WithInput(nil), tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithEnvironment(silentEnvironment))
}

// run shows the status until the viewport is closed. An error does not stop the
// run: showEvent then writes plain lines.
func (w *viewport) run() {
	defer close(w.ended)
	_, _ = w.program.Run()
}

// awaitFrame waits until the first frame is on the terminal, or the program has ended. A line that bubbletea prints earlier
// overwrites the lines above.
func (w *viewport) awaitFrame() {
	for _, c := range []chan struct{}{w.terminal.sized, w.terminal.drawn} {
		select {
		case <-c:
		case <-w.ended:
		}
	}
}

// showEvent prints the line of an event, if it has one, above the status.
func (w *viewport) showEvent(line string, e event.Event) {
	select {
	case <-w.ended:
		if line != "" {
			_, _ = io.WriteString(w.out, line+"\n") // a lost terminal must not stop the run
		}
		return
	default:
	}
	if line != "" {
		for _, row := range splitRows(line, int(w.terminal.width.Load())) {
			w.program.Send(tea.Println(row)()) // the Println method of the program would block after its end
		}
	}
	w.program.Send(e)
}

func (w *viewport) close() {
	w.program.Send(endOfEvents{})
	<-w.ended
}

// userCursorShape makes bubbletea keep the shape of the cursor that the
// operator has set. The value becomes style 0, which bubbletea assumes to be
// set already.
const userCursorShape tea.CursorShape = -1

// endOfEvents ends the viewport.
type endOfEvents struct{}

// screen is the model of bubbletea for the live status.
type screen struct {
	status   *Status
	terminal *terminalState
	now      time.Time
	size     Size
	ended    bool
}

type tick time.Time

func clockTick() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tick(t) })
}

// Init starts the clock.
func (s screen) Init() tea.Cmd { return clockTick() }

// Update handles an event, a tick, the size of the terminal, or the end.
func (s screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case event.Event:
		s.status.AddEvent(m)
	case tick:
		s.now = time.Time(m)
		return s, clockTick()
	case tea.WindowSizeMsg:
		s.size = Size{m.Width, m.Height}
		s.terminal.setWidth(m.Width)
	case endOfEvents:
		s.ended = true
		return s, tea.Quit
	}
	return s, nil
}

// View renders the status. After the end of the run it renders nothing.
func (s screen) View() tea.View {
	text := ""
	if s.size.Width > 0 && !s.ended {
		text = s.status.Render(s.size, s.now)
	}
	v := tea.NewView(text)
	v.DisableBracketedPasteMode = true
	v.Cursor = &tea.Cursor{Shape: userCursorShape}
	return v
}
