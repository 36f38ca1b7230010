package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/sourcegraph/conc"
	"golang.org/x/sys/unix"
)

// Command is a request to a supervisor.
type Command string

const (
	// Off cuts the power. Written data stays.
	Off Command = "off"
	// Lossy cuts the power and loses everything that was not synced.
	Lossy Command = "lossy"
	// Soft presses the power button: an orderly halt.
	Soft Command = "soft"
	// Reset cuts the power and turns it on again.
	Reset Command = "reset"
	// Freeze stops all processes of the host; Thaw resumes them.
	Freeze Command = "freeze"
	Thaw   Command = "thaw"
	// Reload makes the host use its new settings.
	Reload Command = "reload"
	// Status asks for the State.
	Status Command = "status"
)

// State is the answer of a supervisor to Status.
type State string

const (
	// StateOff: the host is powered off, and no supervisor answers.
	StateOff State = "off"
	// StatePost: the host is in its firmware, before a boot.
	StatePost State = "post"
	// StateOn: the host is running, or is starting.
	StateOn State = "on"
	// StateFrozen: the host is frozen, and does not answer.
	StateFrozen State = "frozen"
)

// ErrOff means that the host has no power.
var ErrOff = errors.New("the host is off")

// request is a command to the machine. It is answered exactly once.
type request struct {
	command Command
	answer  chan string
}

// Tell sends a command to the supervisor of the host, and returns the answer. Off
// and Lossy return after the host is off and its disk is closed. Without a
// supervisor, Tell returns ErrOff.
func (f Folder) Tell(ctx context.Context, c Command) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", f.path("control"))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED) {
		return "", ErrOff
	}
	if err != nil {
		return "", fmt.Errorf("reach supervisor: %w", err)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := fmt.Fprintln(conn, c); err != nil {
		return "", fmt.Errorf("tell supervisor %s: %w", c, err)
	}
	raw, err := io.ReadAll(conn)
	if err != nil {
		return "", errors.Join(fmt.Errorf("tell supervisor %s: %w", c, err), ctx.Err())
	}
	answer, ok := strings.CutPrefix(strings.TrimSpace(string(raw)), "ok")
	if !ok {
		return "", fmt.Errorf("tell supervisor %s: %s", c, strings.TrimSpace(string(raw)))
	}
	return strings.TrimSpace(answer), nil
}

// State returns the host's power state.
func (f Folder) State(ctx context.Context) (State, error) {
	answer, err := f.Tell(ctx, Status)
	if errors.Is(err, ErrOff) {
		return StateOff, nil
	}
	return State(answer), err
}

// lockHost makes sure that a host has only one supervisor. The kernel releases
// the lock when the process ends.
func (f Folder) lockHost() (*os.File, error) {
	file, err := os.OpenFile(f.path("lock"), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock host: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock host: %w", err), file.Close())
	}
	return file, nil
}

// listenControl opens the control socket. The caller has the lock, so no other
// process listens on a socket that exists already.
func (f Folder) listenControl() (net.Listener, error) {
	if err := os.Remove(f.path("control")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	l, err := net.Listen("unix", f.path("control"))
	if err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	return l, nil
}

// acceptCommands passes commands to requests until the listener is closed. It
// returns after all commands are answered, or done is closed.
func acceptCommands(l net.Listener, requests chan<- request, done <-chan struct{}) {
	var wg conc.WaitGroup
	defer wg.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		wg.Go(func() { serveCommand(conn, requests, done) })
	}
}

func serveCommand(conn net.Conn, requests chan<- request, done <-chan struct{}) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	line, err := bufio.NewReader(io.LimitReader(conn, 64)).ReadString('\n')
	if err != nil {
		return
	}
	r := request{command: Command(strings.TrimSpace(line)), answer: make(chan string, 1)}
	select {
	case requests <- r:
	case <-done:
		_, _ = fmt.Fprintln(conn, "ok")
		return
	}
	select {
	case answer := <-r.answer:
		_, _ = fmt.Fprintln(conn, answer)
	case <-done:
		_, _ = fmt.Fprintln(conn, "ok")
	}
}

// IsAbandoned reports whether the host has no supervisor, not even one that is starting or ending.
func (f Folder) IsAbandoned() bool {
	lock, err := f.lockHost()
	return err == nil && lock.Close() == nil
}

// WaitOff waits until the host's supervisor has ended.
func (f Folder) WaitOff(ctx context.Context) error {
	for {
		lock, err := f.lockHost()
		if err == nil {
			return lock.Close()
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for power off: %w", ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
