package report

import (
	"io"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/sourcegraph/conc"

	"holdfast/engine"
)

// Live shows a run on a terminal: lines that stay, as Plain writes them but
// without each step, and below them a board of what goes on now. The board is
// there from the first staging or batch to the end of the run. It reads no
// input and catches no signal: both are the program's business.
type Live struct {
	plain Plain
	board *board
	out   io.Writer

	mu      sync.Mutex
	program *tea.Program
	wait    conc.WaitGroup
}

// NewLive shows a run on out, which is a terminal.
func NewLive(out io.Writer, style Style, showPlan bool) *Live {
	return &Live{plain: Plain{W: out, Style: style, Plan: showPlan, Terse: true}, board: newBoard(style), out: out}
}

// Emit shows an event.
func (l *Live) Emit(e engine.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Type == engine.RunEnded {
		l.stop()
	}
	line := l.plain.line(e)
	if l.program == nil {
		l.board.add(e)
		_, err := io.WriteString(l.out, line)
		if e.Type == engine.StageStarted || e.Type == engine.BatchStarted {
			l.start()
		}
		return err
	}
	if line != "" {
		l.program.Send(above(strings.TrimSuffix(line, "\n")))
	}
	l.program.Send(e)
	return nil
}

// above is a line that stays, above the board. Unlike the program's own
// Println, sending it never waits for a program that has ended.
func above(line string) tea.Msg { return tea.Println(line)() }

// Say shows a message of the program itself above the board; it reports
// whether there is one.
func (l *Live) Say(message string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.program == nil {
		return false
	}
	l.program.Send(above(message))
	return true
}

// Close takes the board away, whatever became of the run.
func (l *Live) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop()
}

// silent is an environment in which bubbletea asks the terminal nothing:
// nobody would read the answers, and they would end up in the operator's shell.
var silent = []string{"TERM=xterm-256color", "SSH_TTY=none"}

func (l *Live) start() {
	l.program = tea.NewProgram(screen{board: l.board, now: time.Now()},
		tea.WithInput(nil), tea.WithOutput(l.out), tea.WithoutSignalHandler(), tea.WithEnvironment(silent))
	program := l.program
	l.wait.Go(func() { _, _ = program.Run() }) // a terminal that has gone away is no reason to stop
}

func (l *Live) stop() {
	if l.program == nil {
		return
	}
	l.program.Quit()
	l.wait.Wait()
	l.program = nil
}

// screen is the board as bubbletea wants it.
type screen struct {
	board *board
	now   time.Time
	width int
}

type tick time.Time

func clockTick() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tick(t) })
}

// Init starts the clock.
func (s screen) Init() tea.Cmd { return clockTick() }

// Update takes an event, the time, or the size of the terminal.
func (s screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case engine.Event:
		s.board.add(m)
	case tick:
		s.now = time.Time(m)
		return s, clockTick()
	case tea.WindowSizeMsg:
		s.width = m.Width
	}
	return s, nil
}

// View draws the board; the last frame, when the run is over, is empty.
func (s screen) View() tea.View {
	if s.width == 0 {
		return tea.NewView("")
	}
	return tea.NewView(s.board.render(s.width, s.now))
}
