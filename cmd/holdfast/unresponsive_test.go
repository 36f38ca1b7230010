package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine/input"
	"holdfast/engine/remote/sshtest"
)

// hangingSite makes an inventory with one host and the given SSH settings.
func hangingSite(t *testing.T, ssh string) string {
	t.Helper()
	s := sshtest.Start(t, sshtest.Config{Sudo: "password:x"})
	text := `site "test" {
  ssh {
    user       = "core"
    ssh_config = "none"
    become     = "sudo"
    port       = PORT
    SETTINGS
  }
}
pool "worker" {
  os {
    driver = "ostree"
    remote = "lab"
    ref    = "lab/stable"
    commit = "` + strings.Repeat("1", 64) + `"
  }
}
host "w-1" {
  pool    = "worker"
  address = "127.0.0.1"
}
`
	if !strings.Contains(ssh, "known_hosts") {
		ssh += "\n    known_hosts = \"" + s.KnownHosts + "\""
	}
	if !strings.Contains(ssh, "identity") {
		ssh += "\n    identity = \"" + s.Identity + "\""
	}
	_, port, _ := strings.Cut(s.Addr(), ":")
	text = strings.NewReplacer("PORT", port, "SETTINGS", ssh).Replace(text)
	path := filepath.Join(t.TempDir(), "inventory.hcl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// started is a running program.
type started struct {
	*exec.Cmd

	mu   sync.Mutex
	said bytes.Buffer
}

// Write keeps the output of the program.
func (s *started) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Write(p)
}

func (s *started) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

// startProgram starts the program, without a terminal.
func startProgram(t *testing.T, args ...string) *started {
	t.Helper()
	s := newProgram(t, args...)
	s.start(t)
	return s
}

func newProgram(t *testing.T, args ...string) *started {
	t.Helper()
	s := &started{Cmd: exec.Command(os.Args[0])}
	s.Args = append([]string{"holdfast"}, args...) // with this first argument, the test binary is the program
	s.Env = append(os.Environ(), "SSH_AUTH_SOCK=", "HOME="+t.TempDir())
	s.Stdout, s.Stderr = s, s
	s.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	s.WaitDelay = time.Second // the program may leave processes behind
	return s
}

func (s *started) start(t *testing.T) {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill(); _ = s.Wait() })
}

// TestHangs checks that a signal ends the program during every kind of hang.
func TestHangs(t *testing.T) {
	t.Parallel()
	pipe := func(t *testing.T) (string, func()) {
		path := makeFIFO(t)
		w := make(chan struct{})
		return path, func() { // returns when the program has opened the file
			go func() {
				defer close(w)
				if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
					t.Cleanup(func() { _ = f.Close() })
				}
			}()
			select {
			case <-w:
			case <-time.After(30 * time.Second):
				t.Error("nobody opens the pipe")
			}
		}
	}
	for _, c := range []struct{ name, setting string }{
		{"identity", `identity = "PATH"`},
		{"known_hosts", `known_hosts = "PATH"`},
		{"become_password_file", `become_password_file = "PATH"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path, opened := pipe(t)
			p := startProgram(t, "plan", "-i", hangingSite(t, strings.ReplaceAll(c.setting, "PATH", path)))
			opened()
			endsBySignal(t, p)
		})
	}
	t.Run("inventory", func(t *testing.T) {
		t.Parallel()
		path, opened := pipe(t)
		p := startProgram(t, "validate", "-i", path)
		opened()
		endsBySignal(t, p)
	})
	t.Run("become_password_command", func(t *testing.T) {
		t.Parallel()
		pid := filepath.Join(t.TempDir(), "pid")
		p := startProgram(t, "plan", "-i", hangingSite(t, `become_password_command = "trap '' TERM INT; sleep 600 & echo $! >`+pid+`.new; mv `+pid+`.new `+pid+`; wait; sleep 600"`))
		for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) { // there is no event to wait for
			if _, err := os.Stat(pid); err == nil {
				break
			}
		}
		endsBySignal(t, p)
		child, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		for until := time.Now().Add(20 * time.Second); isProcessRunning(strings.TrimSpace(string(child))); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("what the command has started goes on")
			}
		}
	})
}

// endsBySignal sends a signal and checks that the program ends as stopped, long
// before lastResort.
func endsBySignal(t *testing.T, p *started) {
	t.Helper()
	began := time.Now()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = p.Wait() }()
	select {
	case <-ended:
	case <-time.After(40 * time.Second):
		_ = p.Process.Kill()
		<-ended
		t.Fatalf("it goes on after SIGTERM: %s", p.text())
	}
	if code := p.ProcessState.ExitCode(); code != 6 {
		t.Errorf("exit status %d after %s: %s", code, time.Since(began), p.text())
	}
}

// hangingProgram is a program that waits for a disk that does not answer.
func hangingProgram() {
	waits := &input.Waits{}
	signals := catchSignals(os.Stderr, waits)
	defer signals.stop()
	defer waits.Begin("reading /a/disk/that/hangs")()
	_, _ = os.Stdout.WriteString("it hangs now\n")
	select {}
}

// awaitText waits until the program has printed a text.
func awaitText(t *testing.T, p *started, text string) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); !strings.Contains(p.text(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("it has not printed %q: %s", text, p.text())
		}
	}
}

// TestEndByForce checks that a second Ctrl-C ends a program that does not react
// to the first, and that the program names the operation that hangs.
func TestEndByForce(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "hang-in-tests")
	awaitText(t, p, "hangs now")
	for range 2 {
		if err := p.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		awaitText(t, p, "stopped")
	}
	_ = p.Wait()
	if code := p.ProcessState.ExitCode(); code != 6 || !strings.Contains(p.text(), "ended while reading /a/disk/that/hangs") {
		t.Errorf("exit status %d: %s", code, p.text())
	}
}

// fullPipe returns the end of a pipe that takes no data, and that nobody reads.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	size, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestEndByForceUnread checks that signals end a program that hangs although its standard error takes nothing more.
func TestEndByForceUnread(t *testing.T) {
	t.Parallel()
	stderr := fullPipe(t)
	p := newProgram(t, "hang-in-tests")
	p.Stderr = stderr
	p.start(t)
	awaitText(t, p, "hangs now")
	ended := make(chan struct{})
	go func() { defer close(ended); _ = p.Wait() }()
	for began := time.Now(); ; { // two signals that arrive at once are one
		_ = p.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-ended:
			if code := p.ProcessState.ExitCode(); code != 6 {
				t.Errorf("exit status %d", code)
			}
			return
		case <-time.After(50 * time.Millisecond):
		}
		if time.Since(began) > lastResort/2 {
			t.Fatal("it goes on after several signals")
		}
	}
}

// TestWarningsDoNotWait checks that the work on hosts goes on if nobody reads the warnings about it.
func TestWarningsDoNotWait(t *testing.T) {
	t.Parallel()
	stderr := fullPipe(t)
	c := &console{stderr: stderr, messages: newMessages(stderr)}
	began := time.Now()
	for range 20 {
		c.printWarning("w-1: its clock is wrong")
	}
	if took := time.Since(began); took > 2*endPatience {
		t.Errorf("20 warnings that nobody reads took %s", took)
	}
}

// makeFIFO makes a named pipe.
func makeFIFO(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// isProcessRunning reports whether a process runs. A zombie does not run.
func isProcessRunning(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}
