package remote_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshconfig"
	"holdfast/engine/remote/sshtest"
)

func TestRun(t *testing.T) {
	t.Parallel()
	h := connect(t, sshtest.Start(t, sshtest.Config{}))
	for _, c := range []struct {
		name, script, stdin, stdout, stderr string
		code                                int
		signal                              string
	}{
		{name: "output", script: "echo out; echo err >&2", stdout: "out\n", stderr: "err\n"},
		{name: "status", script: "exit 7", code: 7},
		{name: "last status", script: "false", code: 1},
		{name: "signal", script: "kill -TERM $$", code: 143, signal: "TERM"},
		{name: "syntax", script: "if", code: 2, stderr: "?"},
		{name: "data", script: "read -r a; echo \"[$a]\"; cat", stdin: "one\ntwo\nthree", stdout: "[one]\ntwo\nthree"},
		{name: "no data", script: "cat; echo end", stdout: "end\n"},
		{name: "quotes", script: `printf '%s\n' "a'b\"c" '$HOME' 'é'`, stdout: "a'b\"c\n$HOME\né\n"},
		{name: "no variables", script: `echo "${s-}${n-}"`, stdout: "\n"},
		{name: "trailing newlines", script: "echo a\n\n\n", stdout: "a\n"},
		{name: "comment at the end", script: "echo a # b", stdout: "a\n"},
		{name: "heredoc", script: "cat <<X\nin $((1+1))\nX", stdout: "in 2\n"},
		{name: "locale", script: "echo $LC_ALL", stdout: "C\n"},
		{name: "no newline", script: "printf x", stdout: "x"},
		{name: "long", script: "echo " + strings.Repeat("x", 300<<10), stdout: strings.Repeat("x", 300<<10) + "\n"},
	} {
		for _, become := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/become=%t", c.name, become), func(t *testing.T) {
				command := remote.Command{Script: c.script, Become: become}
				if c.stdin != "" {
					command.Stdin = strings.NewReader(c.stdin)
				}
				r := mustRun(t, h, command)
				if string(r.Stdout) != c.stdout || c.stderr != "?" && string(r.Stderr) != c.stderr || r.Code != c.code ||
					r.Signal != c.signal {
					t.Errorf("%.300q %.300q %d %s", r.Stdout, r.Stderr, r.Code, r.Signal)
				}
			})
		}
	}
}

// TestOneConnection checks that all commands use one connection, with one
// session for each command.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	h := connect(t, s)
	for range 3 {
		mustRun(t, h, remote.Command{Script: "true", Become: true})
	}
	if s.Connections() != 1 || s.Sessions() != 3 {
		t.Errorf("%d connections, %d sessions", s.Connections(), s.Sessions())
	}
}

// TestNoise checks that the output of a login shell does not change the output
// of a script.
func TestNoise(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{Shell: []string{"sh", "-c", `echo welcome; echo hello >&2; sh -c "$0"`}})
	r := mustRun(t, connect(t, s), remote.Command{Script: "echo out; echo err >&2"})
	if string(r.Stdout) != "out\n" || string(r.Stderr) != "err\n" {
		t.Errorf("%q %q", r.Stdout, r.Stderr)
	}
}

func TestNoShell(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{Shell: []string{"sh", "-c", "echo This account is currently not available.; exit 1"}})
	_, err := connect(t, s).Run(context.Background(), remote.Command{Script: "true"})
	checkError(t, err, remote.NoShell, "h1: ", "start a shell as core@", "not available", "status 1")
}

func TestOutputBound(t *testing.T) {
	t.Parallel()
	h := connect(t, sshtest.Start(t, sshtest.Config{}))
	const script = "dd if=/dev/zero bs=1000 count=1000 2>/dev/null; echo err >&2"
	seen := 0
	r := mustRun(t, h, remote.Command{Script: script, MaxOutput: 1000*1000 + 4, Stdout: func(p []byte) { seen += len(p) }})
	if len(r.Stdout) != 1000*1000 || r.Stderr != "err\n" || seen != 1000*1000 {
		t.Errorf("%d bytes, %q, live %d", len(r.Stdout), r.Stderr, seen)
	}
	_, err := h.Run(t.Context(), remote.Command{Script: script, MaxOutput: 1000*1000 + 3})
	checkError(t, err, remote.TooMuch)
}

func TestLiveOutput(t *testing.T) {
	t.Parallel()
	h := connect(t, sshtest.Start(t, sshtest.Config{}))
	r, w := io.Pipe()
	result := mustRun(t, h, remote.Command{
		Script: "echo go; read -r answer; echo \"$answer\"", Stdin: r,
		Stdout: func(p []byte) {
			if string(p) == "go\n" {
				go func() { _, _ = io.WriteString(w, "answered\n"); _ = w.Close() }()
			}
		},
	})
	if string(result.Stdout) != "go\nanswered\n" {
		t.Errorf("%q", result.Stdout)
	}
}

func TestBigStdin(t *testing.T) {
	t.Parallel()
	h := connect(t, sshtest.Start(t, sshtest.Config{}))
	const size = 64 << 20
	sum := sha256.New()
	data := io.TeeReader(io.LimitReader(rand.NewChaCha8([32]byte{1}), size), sum)
	r := mustRun(t, h, remote.Command{Script: "sha256sum", Stdin: data, Become: true})
	if got := fmt.Sprintf("%x  -\n", sum.Sum(nil)); string(r.Stdout) != got {
		t.Errorf("%q, want %q", r.Stdout, got)
	}
}

// closer is a reader that blocks until it is closed.
type closer struct {
	*io.PipeReader
	closed chan struct{}
}

func (c closer) Close() error {
	select {
	case <-c.closed:
	default:
		close(c.closed)
	}
	return c.PipeReader.Close()
}

// TestStdinUnread checks that a script that ends early stops the reader of its
// data.
func TestStdinUnread(t *testing.T) {
	t.Parallel()
	h := connect(t, sshtest.Start(t, sshtest.Config{}))
	r, _ := io.Pipe()
	c := closer{r, make(chan struct{})}
	if r := mustRun(t, h, remote.Command{Script: "exit 3", Stdin: c}); r.Code != 3 {
		t.Errorf("code %d", r.Code)
	}
	<-c.closed
	if r := mustRun(t, h, remote.Command{Script: "exit 4", Stdin: bytes.NewReader(make([]byte, 8<<20))}); r.Code != 4 {
		t.Errorf("code %d", r.Code)
	}
}

func TestStdinBroken(t *testing.T) {
	t.Parallel()
	h := connect(t, sshtest.Start(t, sshtest.Config{}))
	broken := errors.New("disk on fire")
	_, err := h.Run(context.Background(), remote.Command{
		Script: "cat >/dev/null; echo whole", Stdin: io.MultiReader(strings.NewReader("part"), failing{broken}),
	})
	if checkError(t, err, remote.Input, "disk on fire"); !errors.Is(err, broken) {
		t.Error("cause is lost")
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestCheck(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	h := connect(t, s)
	for _, c := range []struct {
		command remote.Command
		words   string
	}{
		{remote.Command{Script: "echo \x00"}, "NUL"},
		{remote.Command{Script: " \n"}, "empty"},
	} {
		_, err := h.Run(context.Background(), c.command)
		checkError(t, err, remote.Config, c.words)
	}
	plain := targetOf(s)
	plain.Become = ""
	_, err := dialTarget(t, newDialer(t, remote.Options{}), plain).Run(context.Background(), remote.Command{Script: "true", Become: true})
	checkError(t, err, remote.Config, "core is not root", `set become = "sudo"`)
	if s.Sessions() != 0 {
		t.Errorf("%d sessions", s.Sessions())
	}
}

// TestRootNeedsNoBecome checks that root runs commands as root without sudo, whether the inventory or ssh_config names the user.
func TestRootNeedsNoBecome(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{User: "root"})
	named, configured := targetOf(s), targetOf(s)
	named.User, named.Become = "root", ""
	configured.User, configured.Become, configured.Config = "", "", writeFile(t, "config", "User root\n")
	for _, target := range []sshconfig.Target{named, configured} {
		h := dialTarget(t, newDialer(t, remote.Options{}), target)
		if r := mustRun(t, h, remote.Command{Script: "echo $USER", Become: true}); r.Stdout != "root\n" {
			t.Errorf("%q", r.Stdout)
		}
	}
}

// startCommand runs a script in the background and returns once the script runs. The second channel receives its error.
func startCommand(ctx context.Context, h *remote.Host, wg *conc.WaitGroup, c remote.Command) (<-chan struct{}, <-chan error) {
	running, failed := make(chan struct{}), make(chan error, 1)
	if !strings.Contains(c.Script, "echo started") {
		c.Script = "echo started; " + c.Script
	}
	if c.Stdin == nil { // Run sends it once it knows that the script has started; stdout alone does not show that
		c.Script, c.Stdin = "read -r line; "+c.Script, strings.NewReader("go\n")
	}
	c.Stdout = func([]byte) {
		select {
		case <-running:
		default:
			close(running)
		}
	}
	wg.Go(func() {
		r, err := h.Run(ctx, c)
		if err == nil {
			err = fmt.Errorf("ended with %+v", r)
		}
		failed <- err
	})
	return running, failed
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	h := connect(t, s)
	ended := filepath.Join(s.Dir, "ended")
	if err := syscall.Mkfifo(ended, 0o600); err != nil {
		t.Fatal(err)
	}
	var wg conc.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	running, failed := startCommand(ctx, h, &wg, remote.Command{Script: "trap 'echo end >ended; exit' TERM; echo started; while :; do sleep 0.01; done"})
	<-running
	cancel()
	err := <-failed
	if checkError(t, err, remote.Canceled, "may still be running"); !errors.Is(err, context.Canceled) {
		t.Error("not context.Canceled")
	}
	if got := readFile(t, ended); got != "end\n" { // the script received SIGTERM
		t.Errorf("%q", got)
	}
	mustRun(t, h, remote.Command{Script: "true"}) // the connection still works
}

// TestCancelFrozen checks that a host that hangs does not delay a caller whose
// context ends.
func TestCancelFrozen(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	h := connect(t, s)
	var wg conc.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	running, failed := startCommand(ctx, h, &wg, remote.Command{Script: "cat", Stdin: rand.NewChaCha8([32]byte{2})})
	<-running
	s.Freeze()
	cancel()
	checkError(t, <-failed, remote.Canceled)
	_, err := h.Run(ctx, remote.Command{Script: "true"})
	checkError(t, err, remote.Canceled)
	timed, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err = h.Run(timed, remote.Command{Script: "true"})
	checkError(t, err, remote.Timeout)
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	h := connect(t, sshtest.Start(t, sshtest.Config{}))
	for timeout := 100 * time.Millisecond; ; timeout *= 2 { // until the script starts in time, on a machine of any speed
		r, err := h.Run(context.Background(), remote.Command{Script: "echo begun; sleep 100", Timeout: timeout})
		if checkError(t, err, remote.Timeout); !errors.Is(err, context.DeadlineExceeded) {
			t.Error("not context.DeadlineExceeded")
		}
		if string(r.Stdout) == "begun\n" {
			break
		}
		if timeout > time.Minute {
			t.Fatalf("%q", r.Stdout)
		}
	}
}

// TestTimeoutWhileSessionsOpen checks that scripts whose time ends before their sessions are open leave no session
// behind: as many as a connection has at once, and the connection still runs scripts.
func TestTimeoutWhileSessionsOpen(t *testing.T) {
	t.Parallel()
	h := connect(t, sshtest.Start(t, sshtest.Config{LateSession: 200 * time.Millisecond}))
	long := ": " + strings.Repeat("x", 3<<20) // more than an SSH channel takes before somebody reads it
	var wg conc.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := h.Run(context.Background(), remote.Command{Script: long, Timeout: 50 * time.Millisecond})
			if remote.KindOf(err) != remote.Timeout {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for range 32 { // a context that has ended takes no session, either
		_, err := h.Run(ended, remote.Command{Script: long})
		checkError(t, err, remote.Canceled)
	}
	if _, err := h.Run(context.Background(), remote.Command{Script: ":", Timeout: 10 * time.Second}); err != nil {
		t.Error(err)
	}
}

func TestLost(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	h := connect(t, s)
	var wg conc.WaitGroup
	defer wg.Wait()
	running, failed := startCommand(context.Background(), h, &wg, remote.Command{Script: "sleep 100"})
	<-running
	s.Drop()
	checkError(t, <-failed, remote.Lost, "h1: ", "closed the connection", "may still be running")
	<-h.Done()
	_, err := h.Run(context.Background(), remote.Command{Script: "true"})
	checkError(t, err, remote.Lost)
	_, err = h.Dial(context.Background(), "tcp", s.Addr())
	checkError(t, err, remote.Lost)
	_, err = h.Listen(context.Background(), "tcp", "127.0.0.1:0")
	checkError(t, err, remote.Lost)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestKeepAlive(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	alive := targetOf(s)
	alive.KeepAlive = time.Second
	h := dialTarget(t, newDialer(t, remote.Options{}), alive)
	// A host that answers keepalives stays connected while its script is
	// silent.
	mustRun(t, h, remote.Command{Script: "sleep 1.5"})
	var wg conc.WaitGroup
	defer wg.Wait()
	running, failed := startCommand(context.Background(), h, &wg, remote.Command{Script: "sleep 100"})
	<-running
	s.Freeze()
	checkError(t, <-failed, remote.Lost, "no answer for")
	<-h.Done()
}

// TestKeepAliveAfterAStop: after this process was stopped (Ctrl-Z), the peer gets the time to answer before the connection ends.
func TestKeepAliveAfterAStop(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	target := targetOf(s)
	target.KeepAlive = time.Second
	h := dialTarget(t, newDialer(t, remote.Options{}), target)
	var wg conc.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		time.Sleep(200 * time.Millisecond)
		h.AgeLastByte(time.Minute)
	})
	mustRun(t, h, remote.Command{Script: "sleep 2.5"})
}

func TestSessionLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, 3, 1} {
		t.Run(fmt.Sprintf("MaxSessions=%d", limit), func(t *testing.T) {
			s := sshtest.Start(t, sshtest.Config{MaxSessions: limit})
			h := connect(t, s)
			var wg conc.WaitGroup
			for range 12 {
				wg.Go(func() {
					r, err := h.Run(context.Background(), remote.Command{Script: "sleep 0.02; echo done"})
					if err != nil || string(r.Stdout) != "done\n" {
						t.Errorf("%q %v", r.Stdout, err)
					}
				})
			}
			wg.Wait()
			if n := s.MostSessions(); n > 8+1 || n < 1 { // the server may notice the end of a session late
				t.Errorf("%d sessions at once", n)
			}
		})
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	h := connect(t, sshtest.Start(t, sshtest.Config{}))
	var wg conc.WaitGroup
	defer wg.Wait()
	running, failed := startCommand(context.Background(), h, &wg, remote.Command{Script: "sleep 100"})
	<-running
	for range 2 {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	checkError(t, <-failed, remote.Lost, "closed")
	<-h.Done()
}

// TestRoundTrip checks that a connection measures the round trip to its host.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	h := connect(t, sshtest.Start(t, sshtest.Config{Late: 50 * time.Millisecond}))
	h.AwaitRoundTrip(t.Context())
	if got := h.RoundTrip(); got < 50*time.Millisecond || got > 20*time.Second {
		t.Errorf("%s, the host answers after 50ms", got)
	}
}
