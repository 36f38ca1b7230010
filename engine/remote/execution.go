package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sourcegraph/conc"
	"golang.org/x/crypto/ssh"
)

// execution is one session that runs one script. Its goroutines belong to the Host: whoever waits for the script can leave
// before they end, and they end with the session or with the connection.
type execution struct {
	host     *Host
	command  Command
	step     string
	line     string // the command line
	password []byte // what sudo's prompt gets, if linePassword
	become   bool

	allowance allowance
	out, err  output
	cut       chan error    // gets why the output was cut off
	opened    chan struct{} // closed when there is a session
	running   chan struct{} // closed when the script has started
	prompts   chan struct{} // one element for each prompt of sudo
	done      chan struct{} // closed at the end; the fields below count then

	mu      sync.Mutex
	session *ssh.Session
	stopped bool

	wrong   bool  // sudo asked twice
	input   error // reading Stdin
	waited  error // what the session ended with
	failure error // why there was no session
}

func newExecution(ctx context.Context, h *Host, c Command, line string, password []byte) *execution {
	x := &execution{
		allowance: allowance{ctx: ctx, limit: c.MaxOutput, budget: h.dialer.budget}, cut: make(chan error, 2),
		host: h, command: c, line: line, password: password, become: line != lineUser, step: "run a script",
		opened: make(chan struct{}), running: make(chan struct{}), prompts: make(chan struct{}, 64), done: make(chan struct{}),
	}
	x.out = output{allowance: &x.allowance, live: c.Stdout, onReady: func() {}, onPrompt: func() {}}
	x.err = output{
		allowance: &x.allowance, onReady: func() { close(x.running) },
		onPrompt: func() {
			select {
			case x.prompts <- struct{}{}:
			default: // more than enough of them are waiting
			}
		},
	}
	return x
}

// run is the life of the session.
func (x *execution) run(ctx context.Context) {
	defer close(x.done)
	session, err := x.host.slots.open(ctx, x.host, x.step)
	if err != nil {
		x.failure = err
		return
	}
	defer x.host.slots.release()
	defer func() { _ = session.Close() }() // says EOF if it is closed already
	session.Stdout, session.Stderr = cutting{&x.out, x.cut}, cutting{&x.err, x.cut}
	stdin, err := session.StdinPipe()
	if err == nil && x.adopt(session) {
		err = session.Start(x.line)
	}
	if err != nil {
		x.failure = x.broken(err)
		return
	}
	ended := make(chan struct{})
	var feeding conc.WaitGroup
	feeding.Go(func() { x.feed(stdin, ended) })
	x.waited = session.Wait()
	close(ended)
	if closer, ok := x.command.Stdin.(io.Closer); ok && x.started() { // feed may be waiting for data; else it is needed again
		_ = closer.Close()
	}
	feeding.Wait()
}

// cutting tells of an output that is too long, as the session goes on until it is closed.
type cutting struct {
	*output
	cut chan<- error
}

// ReadFrom reads until the end or the limit.
func (c cutting) ReadFrom(r io.Reader) (int64, error) {
	n, err := c.output.ReadFrom(r)
	var much tooMuch
	if errors.As(err, &much) {
		c.cut <- err
	}
	return n, err
}

// adopt makes the session one that abort can close, and reports false if abort came first.
func (x *execution) adopt(s *ssh.Session) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.session = s
	close(x.opened)
	return !x.stopped
}

// abort ends the session without waiting for it.
func (x *execution) abort() {
	x.out.drop()
	x.err.drop()
	x.mu.Lock()
	x.stopped = true
	session := x.session
	x.mu.Unlock()
	if session != nil {
		x.host.spawn(func() { // a write to a stuck connection would block
			_ = session.Signal(ssh.SIGTERM)
			_ = session.Close()
		})
	}
}

// started reports whether the script has started.
func (x *execution) started() bool {
	_, ready := x.err.before()
	return ready
}

// broken returns the error for a session that ended without an exit status.
func (x *execution) broken(err error) error {
	hint := ""
	if x.started() {
		hint = "the script may still be running"
	}
	e := x.host.lost(x.step, err)
	e.Hint = hint
	return e
}

// result says how the script ended, after done.
func (x *execution) result() (Result, error) {
	r := x.partial()
	if x.failure != nil {
		return r, x.failure
	}
	if x.input != nil {
		return r, x.host.ep.fail(Input, "send data to a script", x.input, "the script got only a part of it")
	}
	var exit *ssh.ExitError
	switch {
	case x.waited == nil:
	case errors.As(x.waited, &exit):
		r.Code, r.Signal = exit.ExitStatus(), line(exit.Signal())
	default:
		return r, x.broken(x.waited)
	}
	if !x.started() {
		return r, x.explainStart(r.Code)
	}
	return r, nil
}

// partial returns what has arrived so far and stops taking more.
func (x *execution) partial() Result {
	return Result{Stdout: x.out.close(), Stderr: x.err.close()}
}

// explainLate returns the error for a script that did not start in time.
func (x *execution) explainLate() error {
	kind, step := NoShell, "start a shell as "+x.host.ep.where()
	if x.become {
		kind, step = NoSudo, "become root with sudo"
	}
	said, _ := x.err.before()
	return x.host.ep.fail(kind, step, fmt.Errorf("the script did not start within %s: %s", x.host.dialer.opts.StartTimeout, line(said)), "")
}
