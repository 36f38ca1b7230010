package report

import (
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"holdfast/engine"
)

// window is the board on a terminal. It leaves the terminal as it found it at
// every moment: no raw mode, the cursor stays visible, and no mode is set, so
// that even a killed program leaves nothing to be restored.
type window struct {
	program *tea.Program
	out     io.Writer
	gone    chan struct{} // closed when the program has ended, whyever
}

// silent is an environment in which bubbletea asks the terminal nothing:
// nobody would read the answers, and they would end up in the operator's shell.
var silent = []string{"TERM=xterm-256color", "SSH_TTY=none"}

func newWindow(b *board, out io.Writer, now time.Time) *window {
	program := tea.NewProgram(screen{board: b, now: now},
		tea.WithInput(nil), tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithEnvironment(silent))
	return &window{program: program, out: out, gone: make(chan struct{})}
}

// run shows the board until it is closed. That it ends with an error is no
// reason to stop a run; from then on lines are written as they are.
func (w *window) run() {
	defer close(w.gone)
	_, _ = w.program.Run()
}

// show tells the board.
func (w *window) show(n news) {
	select {
	case <-w.gone:
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

func (w *window) close() {
	w.program.Send(over{})
	<-w.gone
}

// ownShape makes bubbletea leave the shape of the cursor as the operator likes
// it: with it the style is 0, which is what it takes the terminal to have.
const ownShape tea.CursorShape = -1

// over ends the board.
type over struct{}

// screen is the board as bubbletea wants it.
type screen struct {
	board *board
	now   time.Time
	size  size
	over  bool
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
		s.board.add(m)
	case tick:
		s.now = time.Time(m)
		return s, clockTick()
	case tea.WindowSizeMsg:
		s.size = size{m.Width, m.Height}
	case over:
		s.over = true
		return s, tea.Quit
	}
	return s, nil
}

// View draws the board; the last frame, when the run is over, is empty.
func (s screen) View() tea.View {
	text := ""
	if s.size.width > 0 && !s.over {
		text = s.board.render(s.size, s.now)
	}
	v := tea.NewView(text)
	v.DisableBracketedPasteMode = true
	v.Cursor = &tea.Cursor{Shape: ownShape}
	return v
}
