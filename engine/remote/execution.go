package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/sourcegraph/conc"
	"golang.org/x/crypto/ssh"
)

// execution is a session that runs one script. Its goroutines belong to the Host, so a caller may return before they
// end. They end with the session or the connection.
type execution struct {
	host     *Host
	command  Command
	step     string
	line     string // the command line
	password []byte // for sudo's prompt, if linePassword
	become   bool

	allowance allowance
	out, err  output
	cut       chan error    // receives the reason why output was cut off
	opened    chan struct{} // closed when the session is open
	running   chan struct{} // closed when the script has started
	prompts   chan struct{} // one element for each prompt of sudo
	done      chan struct{} // closed at the end; then the fields below are set

	mu      sync.Mutex
	session *ssh.Session
	stopped bool

	wrongPassword bool  // sudo asked twice
	inputErr      error // of reading Stdin
	sessionErr    error // of the session's end
	openErr       error // of opening the session
}

func (h *Host) newExecution(ctx context.Context, c Command, line string, password []byte) *execution {
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
			default: // the channel has more prompts than answerPrompt reads
			}
		},
	}
	return x
}

func (x *execution) runSession(ctx context.Context) {
	defer close(x.done)
	session, err := x.host.slots.openSession(ctx, x.host, x.step)
	if err != nil {
		x.openErr = err
		return
	}
	defer x.host.slots.releaseSlot()
	defer func() { _ = session.Close() }() // returns EOF if the session is closed already
	session.Stdout, session.Stderr = cuttingOutput{&x.out, x.cut}, cuttingOutput{&x.err, x.cut}
	if !x.setSession(session) { // Run has returned; without a start, Wait and writeInput would keep the slot
		x.openErr = x.host.contextError(ctx, x.step)
		return
	}
	stdin, err := session.StdinPipe()
	if err == nil {
		err = session.Start(x.line)
	}
	if err != nil {
		x.openErr = x.sessionError(err)
		return
	}
	ended := make(chan struct{})
	var feeding conc.WaitGroup
	feeding.Go(func() { x.writeInput(stdin, ended) })
	x.sessionErr = session.Wait()
	close(ended)
	if closer, ok := x.command.Stdin.(io.Closer); ok && x.hasStarted() { // wakes up writeInput, which may wait for data; without a start, the next try needs Stdin
		_ = closer.Close()
	}
	feeding.Wait()
}

// cuttingOutput reports output beyond the limit, because the session continues until it is closed.
type cuttingOutput struct {
	*output
	cut chan<- error
}

// ReadFrom reads until the end or the limit.
func (c cuttingOutput) ReadFrom(r io.Reader) (int64, error) {
	n, err := c.output.ReadFrom(r)
	var much tooMuchOutput
	if errors.As(err, &much) {
		c.cut <- err
	}
	return n, err
}

// setSession lets abortSession close the session. It returns false if abortSession was called before.
func (x *execution) setSession(s *ssh.Session) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.session = s
	close(x.opened)
	return !x.stopped
}

func (x *execution) abortSession() {
	x.out.dropKept()
	x.err.dropKept()
	x.mu.Lock()
	x.stopped = true
	session := x.session
	x.mu.Unlock()
	if session != nil {
		x.host.startWork(func() { // in a goroutine, because a write to a stuck connection blocks
			_ = session.Signal(ssh.SIGTERM)
			_ = session.Close()
		})
	}
}

func (x *execution) hasStarted() bool {
	_, ready := x.err.printedBefore()
	return ready
}

func (x *execution) sessionError(err error) error {
	hint := ""
	if x.hasStarted() {
		hint = "the script may still be running"
	}
	e := x.host.lostError(x.step, err)
	e.Hint = hint
	return e
}

// scriptResult may be called only after done is closed.
func (x *execution) scriptResult() (Result, error) {
	r := x.closeOutputs()
	if x.openErr != nil {
		return r, x.openErr
	}
	if x.inputErr != nil {
		return r, x.host.ep.newError(Input, "send data to a script", x.inputErr, "the script received only a part of it")
	}
	var exit *ssh.ExitError
	switch {
	case x.sessionErr == nil:
	case errors.As(x.sessionErr, &exit):
		r.Code, r.Signal = exit.ExitStatus(), oneLine(exit.Signal())
	default:
		return r, x.sessionError(x.sessionErr)
	}
	if !x.hasStarted() {
		return r, x.startError(r.Code)
	}
	return r, nil
}

func (x *execution) closeOutputs() Result {
	return Result{Stdout: x.out.closeOutput(), Stderr: x.err.closeOutput()}
}

func (x *execution) lateStartError() error {
	kind, step := NoShell, "start a shell as "+x.host.ep.UserAndAddress()
	if x.become {
		kind, step = NoSudo, "become root with sudo"
	}
	said, _ := x.err.printedBefore()
	return x.host.ep.newError(kind, step, fmt.Errorf("the script did not start within %s: %s", x.host.dialer.opts.StartTimeout, oneLine(said)), "")
}

// writeInput writes the standard input of the session: the password when sudo prompts, the script, the data. ended is
// closed when nobody reads the input any more.
func (x *execution) writeInput(w io.WriteCloser, ended <-chan struct{}) {
	defer func() { _ = w.Close() }() // end of input
	if x.password != nil && !x.answerPrompt(w, ended) {
		return
	}
	if err := writePieces(w, x.command.encodeScript()); err != nil || x.command.Stdin == nil {
		return // the error of the session has the cause
	}
	// The data must wait until the script runs: if sudo wants a password, Run
	// sends everything again.
	select {
	case <-x.running:
	case <-ended:
		return
	}
	in := &scriptInput{r: x.command.Stdin, ended: ended}
	_, _ = io.Copy(w, in)
	if in.err != nil {
		x.inputErr = in.err
		x.abortInput()
	}
}

// pieceSize is the largest packet of a script in bytes. A connection keeps a buffer as large as the largest packet that it has
// sent, and a run keeps a connection to each host of a fleet.
const pieceSize = 4 << 10

func writePieces(w io.Writer, text []byte) error {
	for piece := range slices.Chunk(text, pieceSize) {
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// abortInput closes a session after its data could not be read. The script must not take the end of the input for the
// end of the data.
func (x *execution) abortInput() {
	x.mu.Lock()
	defer x.mu.Unlock()
	_ = x.session.Close()
}

// scriptInput reads the data for a script and keeps the error of the reader,
// unless the session had ended before the error.
type scriptInput struct {
	r     io.Reader
	ended <-chan struct{}
	err   error
}

// Read reads from the caller's reader.
func (i *scriptInput) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		select {
		case <-i.ended: // closed by Run
		default:
			i.err = err
		}
	}
	return n, err
}
