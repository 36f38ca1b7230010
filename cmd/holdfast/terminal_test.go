package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sourcegraph/conc"
	"golang.org/x/sys/unix"

	"holdfast/cmd/holdfast/internal/terminal"
)

// terminalPair returns a terminal and its other end, which a person would use.
func terminalPair() (person, tty *os.File, err error) {
	if person, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	raw, err := person.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	var number int
	err = errors.Join(raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}), err)
	if err == nil {
		tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	return person, tty, err
}

// screen is the output on a terminal until now.
type screen struct {
	mu   sync.Mutex
	cond *sync.Cond
	seen bytes.Buffer
	end  bool
}

func watchTerminal(person *os.File, work *conc.WaitGroup) *screen {
	s := &screen{}
	s.cond = sync.NewCond(&s.mu)
	work.Go(func() {
		buf := make([]byte, 1024)
		for {
			n, err := person.Read(buf)
			s.mu.Lock()
			s.seen.Write(buf[:n])
			s.end = err != nil // a read fails when no process has the terminal open
			s.cond.Broadcast()
			end := s.end
			s.mu.Unlock()
			if end {
				return
			}
		}
	})
	return s
}

// finalScreen returns the lines that an output leaves on a terminal. It carries out the control
// sequences that move between lines and clear the rest, and drops all others.
func finalScreen(output string) string {
	lines := []string{""}
	row := 0
	controls := regexp.MustCompile("\x1b\\[\\??([0-9]*)([a-zA-Z])|\n|[^\x1b\n]+")
	for _, m := range controls.FindAllStringSubmatch(output, -1) {
		count, err := strconv.Atoi(m[1])
		if err != nil {
			count = 1
		}
		switch {
		case m[0] == "\n":
			if row++; row == len(lines) {
				lines = append(lines, "")
			}
		case m[2] == "A":
			row = max(0, row-count)
		case m[2] == "J":
			lines = append(lines[:row:row], "")
		case m[2] == "C":
			lines[row] += strings.Repeat(" ", count)
		case m[2] == "":
			if text := strings.TrimSuffix(m[0], "\r"); strings.HasPrefix(text, "\r") {
				lines[row] = text[1:]
			} else {
				lines[row] += text
			}
		}
	}
	return strings.Join(lines, "\n")
}

// awaitText waits until the text is on the screen. An error contains the screen.
func (s *screen) awaitText(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !strings.Contains(s.seen.String(), text) {
		if s.end {
			return fmt.Errorf("%q was not seen, but:\n%s", text, s.seen.String())
		}
		s.cond.Wait()
	}
	return nil
}

// endError returns an error if no more output will follow.
func (s *screen) endError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end {
		return fmt.Errorf("it has ended:\n%s", s.seen.String())
	}
	return nil
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

// cmdInterrupt runs the program on a terminal. It types Ctrl-C when a text
// appears, or when the host NAME receives a connection (@NAME).
func cmdInterrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || args[2] != "holdfast" {
		ts.Fatalf("usage: interrupt CODE TEXT|@HOST holdfast …")
	}
	atTerminal(ts, args[0], args[2:], func(person *os.File, seen *screen) error {
		if host, ok := strings.CutPrefix(args[1], "@"); ok {
			fleetOf(ts).hosts[host].server.AwaitConnections(1)
		} else if err := seen.awaitText(args[1]); err != nil {
			return err
		}
		_, err := person.WriteString("\x03")
		return err
	})
}

// hangUp runs the program on a terminal, and closes the terminal when a file
// exists.
func hangUp(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || args[2] != "holdfast" {
		ts.Fatalf("usage: hangup CODE FILE holdfast …")
	}
	atTerminal(ts, args[0], args[2:], func(person *os.File, seen *screen) error {
		for {
			if _, err := os.Stat(ts.MkAbs(args[1])); err == nil {
				return person.Close()
			}
			if err := seen.endError(); err != nil {
				return err
			}
			time.Sleep(5 * time.Millisecond) // there is no event to wait for
		}
	})
}

// cmdAnswer runs the program on a terminal. Each time a text appears, it types an
// answer and Enter.
func cmdAnswer(ts *testscript.TestScript, neg bool, args []string) {
	end := slices.Index(args, "holdfast")
	if neg || end < 3 || end%2 == 0 {
		ts.Fatalf("usage: answer CODE TEXT ANSWER [TEXT ANSWER…] holdfast …")
	}
	atTerminal(ts, args[0], args[end:], func(person *os.File, seen *screen) error {
		for i := 1; i < end; i += 2 {
			if err := seen.awaitText(args[i]); err != nil {
				return err
			}
			if _, err := person.WriteString(args[i+1] + "\n"); err != nil {
				return err
			}
		}
		return nil
	})
}

// inSession runs the program in a session without a terminal, as su -c does. Its standard input is a terminal nevertheless.
func inSession(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[1] != "holdfast" {
		ts.Fatalf("usage: session CODE holdfast …")
	}
	terminalRun{ts, args[0], args[1:], &syscall.SysProcAttr{Setsid: true}}.run(func(*os.File, *screen) error { return nil })
}

// atTerminal runs the program on a terminal with a person, checks its exit code,
// and saves its output as the file screen.
func atTerminal(ts *testscript.TestScript, code string, argv []string, do func(*os.File, *screen) error) {
	terminalRun{ts, code, argv, &syscall.SysProcAttr{Setsid: true, Setctty: true}}.run(do)
}

// terminalRun is a program whose standard input and output are a terminal.
type terminalRun struct {
	*testscript.TestScript
	code string
	argv []string
	attr *syscall.SysProcAttr
}

func (ts terminalRun) run(do func(*os.File, *screen) error) {
	person, tty, err := terminalPair()
	ts.Check(err)
	cmd := exec.Command(os.Args[0])
	cmd.Args = ts.argv // with this first argument, the test binary is the program
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "HOLDFAST_INVENTORY", "SSH_AUTH_SOCK", "PATH"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = ts.attr
	ts.Check(cmd.Start())
	_ = tty.Close()
	var work conc.WaitGroup
	defer func() { _ = person.Close(); work.Wait() }()
	seen := watchTerminal(person, &work)
	if err := do(person, seen); err != nil {
		ts.Fatalf("%v", err)
	}
	err = cmd.Wait()
	work.Wait()
	ts.Logf("%s", seen.text())
	ts.Check(os.WriteFile(ts.MkAbs("screen"), []byte(seen.text()), 0o600))
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != ts.code {
		ts.Fatalf("exit status %s (%v), want %s", got, err, ts.code)
	}
}

// TestQuestionTypedAhead checks that text that was typed before a question is not
// an answer to it.
func TestQuestionTypedAhead(t *testing.T) {
	t.Parallel()
	person, tty, err := terminalPair()
	if err != nil {
		t.Fatal(err)
	}
	var work conc.WaitGroup
	defer func() { _, _ = tty.Close(), person.Close(); work.Wait() }()
	seen := watchTerminal(person, &work)
	if _, err := person.WriteString("yes\ny"); err != nil {
		t.Fatal(err)
	}
	if err := seen.awaitText("yes\r\ny"); err != nil { // the terminal has received the text, and shows it
		t.Fatal(err)
	}
	work.Go(func() {
		if err := seen.awaitText("Carry this out? "); err != nil {
			t.Error(err)
		}
		_, _ = person.WriteString("no\n")
	})
	if got, err := (terminal.Question{Text: "Carry this out?"}).AskAt(tty, t.Context()); string(got) != "no" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestQuestion checks that a typed secret is not shown, and that Ctrl-C ends a
// question.
func TestQuestion(t *testing.T) {
	t.Parallel()
	for _, hidden := range []bool{false, true} {
		t.Run(fmt.Sprintf("hidden=%t", hidden), func(t *testing.T) {
			person, tty, err := terminalPair()
			if err != nil {
				t.Fatal(err)
			}
			var work conc.WaitGroup
			defer func() { _, _ = tty.Close(), person.Close(); work.Wait() }()
			seen := watchTerminal(person, &work)
			typed := func(text string, wait string) {
				work.Go(func() {
					if err := seen.awaitText(wait); err != nil {
						t.Error(err)
					}
					_, _ = person.WriteString(text)
				})
			}
			typed("opensesame\n", "first: ")
			got, err := terminal.Question{Text: "first:", Hidden: hidden}.AskAt(tty, t.Context())
			if string(got) != "opensesame" || err != nil {
				t.Errorf("%q, %v", got, err)
			}

			ctx, cancel := context.WithCancel(t.Context())
			work.Go(func() {
				if err := seen.awaitText("second: "); err != nil {
					t.Error(err)
				}
				cancel()
			})
			if got, err := (terminal.Question{Text: "second:", Hidden: hidden}).AskAt(tty, t.Context(), ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%q, %v", got, err)
			}
			if shown := strings.Contains(seen.text(), "sesame"); shown == hidden {
				t.Errorf("%q", seen.text())
			}
		})
	}
}
