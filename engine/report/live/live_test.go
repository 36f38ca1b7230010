package live_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/longtest"
	"holdfast/engine/report"
	"holdfast/engine/report/lines"
	"holdfast/engine/report/live"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/termtext"
)

const liveChild = "HOLDFAST_TEST_LIVE"

// TestMain shows a run when it runs as a child of a test. Otherwise it tries few terminals by default.
func TestMain(m *testing.M) {
	if how := os.Getenv(liveChild); how != "" {
		showLive(how)
	}
	longtest.FewerChecks(20, 40)
	os.Exit(m.Run())
}

// showLive runs in a child of the test. It shows half a batch on its terminal,
// and then ends as how demands, or waits for Ctrl-C.
func showLive(how string) {
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, os.Interrupt)
	live := live.New(os.Stdout, termtext.Style{Colour: true}, how == "failure")
	defer live.Close()
	events := halfABatch()
	if how == "first step" {
		plan := reporttest.RollingPlan()
		events = []event.Event{{Type: event.Planned, Plan: &plan}, {Type: event.StepStarted, Step: "gate no alerts", Time: time.Now()}}
	}
	for _, e := range events {
		if err := live.Emit(e); err != nil {
			os.Exit(1)
		}
	}
	if how == "panic" {
		panic("a bug")
	}
	<-caught
	if how == "failure" {
		for _, e := range longFailure() {
			if err := live.Emit(e); err != nil {
				os.Exit(1)
			}
		}
		live.Close()
		fmt.Println("all was shown")
		<-caught // unread output is lost when this program ends
		os.Exit(0)
	}
	if how == "question" {
		plan := reporttest.RollingPlan()
		if err := live.Emit(event.Event{Type: event.Planned, Plan: &plan}); err != nil {
			os.Exit(1)
		}
		fmt.Println("the second plan\nCarry this out?")
		<-caught // unread output is lost when this program ends
		os.Exit(0)
	}
	if err := live.Emit(event.Event{Type: event.Interrupted, Message: "stopping softly"}); err != nil {
		os.Exit(1)
	}
	last := events[len(events)-1]
	if err := live.Emit(event.Event{Type: event.StepProgress, Host: last.Host, Step: last.Step, Message: "the board lives"}); err != nil {
		os.Exit(1)
	}
	<-caught
	if err := live.Emit(event.Event{Type: event.Interrupted, Message: "stopping at once"}); err != nil {
		os.Exit(1)
	}
	live.Close()
	fmt.Println("ended")
	<-caught // unread output is lost when this program ends
	os.Exit(0)
}

// halfABatch returns the events of a run until a host reboots.
func halfABatch() []event.Event {
	events := reporttest.ExampleRun()
	for i, e := range events {
		if e.Type == event.StepStarted && e.Step == "wait for boot" {
			return events[:i+1]
		}
	}
	return nil
}

// longFailure returns a failure with more lines than the terminal has, one of which is wider than the terminal, a warning right after
// it, and the plan of the next play.
func longFailure() []event.Event {
	var stderr []string
	for i := range 30 {
		stderr = append(stderr, fmt.Sprintf("line %02d", i))
	}
	stderr[7] += " " + strings.Repeat("wide ", 31) + "end"
	plan := reporttest.RollingPlan()
	return []event.Event{
		{Type: event.HostFailed, Host: "etcd-1", Failure: &engine.Failure{Host: "etcd-1", Step: "wait for boot", Cause: "it is off", Stderr: strings.Join(stderr, "\n"), Hint: "look at it"}},
		{Type: event.Warned, Message: "the clock is wrong"},
		{Type: event.Planned, Plan: &plan},
		{Type: event.Warned, Message: "after the plan"},
	}
}

// TestLiveKeepsLongOutput checks that lines that do not fit on the terminal at once are all there, in order, and that no line or
// status overwrites them.
func TestLiveKeepsLongOutput(t *testing.T) {
	p := startOnTerminal(t, "failure")
	p.awaitText("wait for boot")
	p.pressKey("\x03")
	p.awaitText("all was shown")
	p.pressKey("\x03")
	seen := onScreen(p.readRest())
	var want strings.Builder
	plain := lines.Writer{W: &want, Short: true, Terse: true, Plan: true}
	for _, e := range append(halfABatch(), longFailure()...) {
		if err := plain.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	got := strings.ReplaceAll(clock.ReplaceAllString(seen, ""), "\n", "")
	if text := strings.ReplaceAll(want.String(), "\n", ""); !strings.Contains(got, text) {
		t.Errorf("lines are missing, or in another order:\n%s\nwanted\n%s", seen, want.String())
	}
	if strings.Contains(seen, "done 0/") {
		t.Errorf("the status is among the lines:\n%s", seen)
	}
}

// TestLiveOnImplausibleTerminal checks that a terminal gets all lines if its size is one that bubbletea ignores.
func TestLiveOnImplausibleTerminal(t *testing.T) {
	for _, size := range []unix.Winsize{{Row: 24, Col: 5000}, {Row: 5000, Col: 80}, {Row: 1025, Col: 1025}} {
		p := startOnTerminalOf(t, size, "failure")
		p.awaitText("batch 1")
		p.pressKey("\x03")
		p.awaitText("all was shown")
		p.pressKey("\x03")
		if seen := p.readRest(); !strings.Contains(seen, "line 29") || !strings.Contains(seen, "after the plan") {
			t.Errorf("%+v: lines are missing:\n%s", size, seen)
		}
	}
}

// terminal is a pseudo terminal that runs a program.
type terminal struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	before unix.Termios
	seen   bytes.Buffer
}

// startOnTerminal starts this test binary as a child with a terminal of its
// own.
func startOnTerminal(t *testing.T, how string) *terminal {
	t.Helper()
	return startOnTerminalOf(t, unix.Winsize{Row: 24, Col: 80}, how)
}

func startOnTerminalOf(t *testing.T, size unix.Winsize, how string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals here: ", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slave.Close() }()
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), liveChild+"="+how, "TERM=xterm-ghostty", "TERM_PROGRAM=ghostty")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &terminal{t: t, master: master, cmd: cmd, before: *before}
}

// awaitText reads until the terminal has received the text.
func (p *terminal) awaitText(text string) {
	p.t.Helper()
	buf := make([]byte, 4096)
	for !strings.Contains(p.seen.String(), text) {
		n, err := p.master.Read(buf)
		p.seen.Write(buf[:n])
		if err != nil {
			p.t.Fatalf("the terminal ended without %q: %v\n%q", text, err, p.seen.String())
		}
	}
}

func (p *terminal) pressKey(keys string) {
	p.t.Helper()
	if _, err := p.master.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// readRest reads and returns the remaining output, and checks that the modes of the terminal have not
// changed.
func (p *terminal) readRest() string {
	p.t.Helper()
	after, err := unix.IoctlGetTermios(int(p.master.Fd()), unix.TCGETS)
	if err != nil || *after != p.before {
		p.t.Errorf("the terminal's mode was changed: %+v, was %+v (%v)", after, p.before, err)
	}
	_, _ = io.Copy(&p.seen, p.master) // ends with EIO after the last process with the terminal has ended
	_ = p.cmd.Wait()
	text := p.seen.String()
	for _, sequence := range escapes.FindAllString(text, -1) {
		if !benign.MatchString(sequence) {
			p.t.Errorf("%q sets or asks what nobody resets or reads", sequence)
		}
	}
	if shown, hid := strings.LastIndex(text, "\x1b[?25h"), strings.LastIndex(text, "\x1b[?25l"); hid > shown {
		p.t.Error("the cursor stays hidden")
	}
	return text
}

var (
	escapes = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|[^\\[])")
	clock   = regexp.MustCompile(`\b\d\d:\d\d:\d\d `)
	benign  = regexp.MustCompile(`^\x1b(\[[0-9;]*[A-HJ-MPX@dm]|\[\?25[hl]|M)$`) // movements, erasures, colours, and the visibility and shape of the cursor
)

// TestLiveLeavesCtrlC checks that each Ctrl-C reaches the program as a signal,
// and is not read as a key.
func TestLiveLeavesCtrlC(t *testing.T) {
	p := startOnTerminal(t, "signals")
	p.awaitText("wait for boot")
	p.pressKey("\x03")
	p.awaitText("the board lives")
	p.pressKey("\x03")
	p.awaitText("ended")
	p.pressKey("\x03")
	seen := strings.TrimSpace(strings.ReplaceAll(clock.ReplaceAllString(onScreen(p.readRest()), ""), "^C", ""))
	if want := "etcd-1, worker-01\nstopping softly\nstopping at once\nended"; !strings.HasSuffix(seen, want) {
		t.Errorf("the board is not gone, or took lines with it:\n%s", seen)
	}
}

// TestLiveShowsTheFirstStep checks that the live status shows the steps of a run from the first one on: a gate or a snapshot before
// the first staging or batch may take minutes.
func TestLiveShowsTheFirstStep(t *testing.T) {
	p := startOnTerminal(t, "first step")
	p.awaitText("gate no alerts")
	p.pressKey("\x03")
	p.awaitText("the board lives")
	p.pressKey("\x03")
	p.awaitText("ended")
	p.pressKey("\x03")
	if seen := onScreen(p.readRest()); strings.Contains(seen, "gate no alerts ") {
		t.Errorf("the live status is still there:\n%s", seen)
	}
}

// TestLiveLeavesRoomForTheQuestion checks that nothing of a play stays on the screen beside the plan of the next one and the
// question about it.
func TestLiveLeavesRoomForTheQuestion(t *testing.T) {
	p := startOnTerminal(t, "question")
	p.awaitText("wait for boot")
	p.pressKey("\x03")
	p.awaitText("Carry this out?")
	p.pressKey("\x03")
	seen := onScreen(p.readRest())
	if !strings.Contains(seen, "the second plan\nCarry this out?") || strings.Contains(seen, "[....") || strings.Contains(seen, "wait for boot ") {
		t.Errorf("the live status is still there:\n%s", seen)
	}
}

// TestLiveRestores checks that the terminal has its old modes after a panic and
// after a kill.
func TestLiveRestores(t *testing.T) {
	p := startOnTerminal(t, "panic")
	p.awaitText("panic: a bug")
	if seen := onScreen(p.readRest()); strings.Contains(seen, "[....") {
		t.Errorf("the board is not gone:\n%s", seen)
	}
	p = startOnTerminal(t, "kill")
	p.awaitText("wait for boot")
	p.awaitText("\x1b[?25h")
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.readRest()
}

// stuckTerminal accepts nothing from the first live status on, as after Ctrl-S,
// until the test releases it.
type stuckTerminal struct {
	blocked, open chan struct{}
	once          sync.Once
	bytes.Buffer
}

func (s *stuckTerminal) Write(b []byte) (int, error) {
	if strings.Contains(s.String(), "staging") {
		s.once.Do(func() { close(s.blocked) })
		<-s.open
	}
	return s.Buffer.Write(b)
}

// TestLiveNeverWaits checks that a terminal that accepts nothing delays no
// event behind a queue, and gets all events later.
func TestLiveNeverWaits(t *testing.T) {
	out := &stuckTerminal{blocked: make(chan struct{}), open: make(chan struct{})}
	live := live.New(out, termtext.Style{}, false)
	queue := report.NewQueue(live)
	events := reporttest.ExampleRun()
	for _, e := range events[:len(events)-1] {
		if err := queue.Emit(e); err != nil {
			t.Fatal(err)
		}
		if e.Type == event.StageStarted {
			<-out.blocked
		}
	}
	if err := queue.Emit(event.Event{Type: event.Interrupted, Message: "stopping softly"}); err != nil {
		t.Fatal(err)
	}
	close(out.open)
	if err := queue.Emit(events[len(events)-1]); err != nil {
		t.Fatal(err)
	}
	if !queue.Flush(t.Context()) {
		t.Fatal("the terminal has not got all events")
	}
	live.Close()
	for _, want := range []string{"etcd-1 done", "worker-01 failed", "stopping softly", "What to do"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// brokenTerminal fails all writes except the first ones.
type brokenTerminal struct {
	bytes.Buffer
	after int
}

func (b *brokenTerminal) Write(p []byte) (int, error) {
	if b.after--; b.after < 0 {
		return 0, io.ErrClosedPipe
	}
	return b.Buffer.Write(p)
}

// TestLiveOutlivesItsTerminal checks that a run continues after it loses its
// terminal, at any moment.
func TestLiveOutlivesItsTerminal(t *testing.T) {
	for after := range 12 {
		live := live.New(&brokenTerminal{after: after}, termtext.Style{}, false)
		for _, e := range reporttest.ExampleRun() {
			_ = live.Emit(e)
		}
		live.Close()
	}
}
