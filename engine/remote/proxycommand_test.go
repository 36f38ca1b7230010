package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/conc"
	"golang.org/x/sys/unix"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshconfig"
	"holdfast/engine/remote/sshtest"
)

// proxyVariable makes this program a ProxyCommand: it connects to the host and port of its arguments, and passes data on.
const proxyVariable = "HOLDFAST_TEST_PROXY"

func runProxy(host, port string) int {
	conn, err := net.Dial("tcp", net.JoinHostPort(host, port))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var wg conc.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.Close()
	})
	_, _ = io.Copy(os.Stdout, conn)
	_ = os.Stdout.Close()
	wg.Wait()
	return 0
}

// proxyTarget returns a target with a ProxyCommand, and a ProxyJump after it, which does not count.
func proxyTarget(t *testing.T, s *sshtest.Server, command string) sshconfig.Target {
	t.Helper()
	to := targetOf(s)
	to.Config = writeFile(t, "config", "Host *\n  ProxyCommand "+command+"\n  ProxyJump ignored.invalid\n")
	return to
}

func testProxy(t *testing.T) (command string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("env %s=yes '%s' %%h %%p", proxyVariable, program)
}

func TestProxyCommand(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	command := testProxy(t)
	d := newDialer(t, remote.Options{})
	h, err := d.Dial(context.Background(), proxyTarget(t, s, command))
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.Run(context.Background(), remote.Command{Script: "pwd"})
	if string(r.Stdout) != s.Dir+"\n" || err != nil {
		t.Errorf("%q %v", r.Stdout, err)
	}
	_ = h.Close()

	behind := targetBehind(sshtest.Start(t, sshtest.Config{}), s)
	behind.Config = proxyTarget(t, s, command).Config // of the jump host: the host behind it is reached through its connection
	dialTarget(t, newDialer(t, remote.Options{}), behind)
	if s.Connections() != 2 {
		t.Errorf("%d connections", s.Connections())
	}
}

func TestProxyCommandFails(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	d := newDialer(t, remote.Options{})
	dialRefused(t, d, proxyTarget(t, s, "sh -c 'echo no way to %h port %p >&2; exit 3'"), remote.Unreachable,
		"h1: connect to 127.0.0.1:", "with ProxyCommand: no SSH greeting came through it, and it ended with exit status 3: no way to 127.0.0.1 port "+fmt.Sprint(s.Port()), "run the ProxyCommand of ", "config:2 by hand")
	dialRefused(t, d, proxyTarget(t, s, "/no/such/program"), remote.Unreachable, "it ended with exit status 127", "/no/such/program")
	dialRefused(t, d, proxyTarget(t, s, "cat %z"), remote.Config, "config:2: expand cat %z")
	silent := proxyTarget(t, s, "cat")
	silent.ConnectTimeout = time.Second
	dialRefused(t, d, silent, remote.Unreachable, "h1: log in as") // it sends back our own greeting
	hangs := proxyTarget(t, s, "sh -c 'while read -r line; do :; done'")
	hangs.ConnectTimeout = time.Second
	dialRefused(t, d, hangs, remote.Unreachable, "no SSH greeting came through it within 1s")
	hostile := proxyTarget(t, s, "touch "+filepath.Join(t.TempDir(), "x")+" %h")
	hostile.Address, hostile.Name = "web$(id)", "h1"
	dialRefused(t, d, hostile, remote.Config, `"web$(id)" has a character that a shell interprets`)
	flood := proxyTarget(t, s, "yes no >&2")
	flood.ConnectTimeout = time.Second
	if text := dialRefused(t, d, flood, remote.Unreachable, "no no no"); len(text) > 1<<10 {
		t.Errorf("%d bytes", len(text))
	}
}

// TestProxyCommandEnds checks that all processes of the command end with the connection, also those that ignore the end of their
// input and SIGHUP.
func TestProxyCommandEnds(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"one":              "sh -c 'echo $$ > PID; exec tail -f /dev/null'",
		"ignores SIGHUP":   "sh -c 'trap \"\" HUP; echo $$ > PID; exec tail -f /dev/null'",
		"leaves a process": "sh -c '(trap \"\" HUP; exec tail -f /dev/null) & echo $! > PID; wait'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, sshtest.Config{Silent: true})
			pid := filepath.Join(t.TempDir(), "pid")
			to := proxyTarget(t, s, strings.ReplaceAll(command, "PID", pid))
			var text []byte
			for to.ConnectTimeout = time.Second; !bytes.HasSuffix(text, []byte("\n")); to.ConnectTimeout *= 4 { // a slow machine starts it later
				if to.ConnectTimeout > time.Minute {
					t.Fatal("the command has not started")
				}
				dialRefused(t, newDialer(t, remote.Options{}), to, remote.Unreachable, "with ProxyCommand")
				text, _ = os.ReadFile(pid)
			}
			number, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			awaitEnd(t, number)
		})
	}
}

// awaitEnd waits until a process has ended. The kernel ends it a moment after SIGKILL.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it has ended
	}
	defer func() { _ = unix.Close(fd) }()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n != 1 || err != nil {
			t.Errorf("the command still runs (%v)", err)
		}
		return
	}
}

// TestProxyCommandIsSecret checks that no message has the command, which may contain a password.
func TestProxyCommandIsSecret(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	if text := dialRefused(t, newDialer(t, remote.Options{}), proxyTarget(t, s, "false --password=hunter2"), remote.Unreachable, "config:2"); strings.Contains(text, "hunter2") {
		t.Error(text)
	}
	dashed := proxyTarget(t, s, "nc %h %p %r")
	dashed.User = "-oProxyCommand=id"
	dialRefused(t, newDialer(t, remote.Options{}), dashed, remote.Config, `"-oProxyCommand=id" has a character that a shell interprets, or begins with -`)
}
