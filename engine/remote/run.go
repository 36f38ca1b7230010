package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Run runs a script and waits for its end. The Result has the exit status; a status other than 0 is not an error. Every
// error is an *Error. If the connection is lost, the data of Stdin cannot be read, ctx ends or the Timeout expires, the
// Result has the output so far. With any other error it has no output.
//
// When ctx ends or the Timeout expires, Run asks the host to end the script (SIGTERM, which sshd does not deliver to
// root's scripts), closes the session and returns at once. The script may still be running then.
func (h *Host) Run(ctx context.Context, c Command) (Result, error) {
	step := "run a script"
	if closer, ok := c.Stdin.(io.Closer); ok {
		defer func() { _ = closer.Close() }()
	}
	if hint, err := c.checkCommand(h.ep); err != nil {
		return Result{}, h.ep.newError(Config, step, err, hint)
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, commandTimeout(c.Timeout))
		defer cancel()
	}
	if c.MaxOutput <= 0 {
		c.MaxOutput = defaultMaxOutput
	}
	if !c.Become || h.ep.User == "root" {
		return h.executeCommand(ctx, c, lineUser, nil)
	}
	password, err := h.sudo.knownPassword(ctx)
	if err == nil && password == nil {
		// The first try is without a password, because most hosts need none. If sudo wants a password, Run can use
		// Stdin again: Run reads it only after the script has started.
		var r Result
		r, err = h.executeCommand(ctx, c, lineSudo, nil)
		if !errors.Is(err, errPasswordNeeded) || h.dialer.opts.Secrets == nil {
			return r, err
		}
		needed := err
		password, err = h.sudo.askPassword(ctx, h)
		if err == nil && password == nil {
			return r, needed
		}
	}
	if err != nil {
		return Result{}, h.passwordError(ctx, err)
	}
	return h.executeCommand(ctx, c, linePassword, password)
}

// commandTimeout is the cause of the end of a command after its Timeout.
type commandTimeout time.Duration

// Error names the timeout.
func (l commandTimeout) Error() string {
	return fmt.Sprintf("not finished within %s", time.Duration(l))
}

// Unwrap returns context.DeadlineExceeded.
func (l commandTimeout) Unwrap() error { return context.DeadlineExceeded }

func (h *Host) passwordError(ctx context.Context, err error) error {
	step := "ask for the sudo password"
	if KindOf(err) != 0 {
		return err
	}
	if ctx.Err() != nil {
		return h.contextError(ctx, step)
	}
	return h.ep.newError(SudoPassword, step, err, "")
}

func (x *execution) endTooMuchOutput(err error) (Result, error) {
	x.abortSession()
	return Result{}, x.host.ep.newError(TooMuch, x.step, err, "the script may still be running; check on the host why it prints so much")
}

func (h *Host) executeCommand(ctx context.Context, c Command, commandLine string, password []byte) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	x := h.newExecution(ctx, c, commandLine, password)
	defer x.allowance.releaseShares()
	defer cancel()
	if !h.startWork(func() { x.runSession(ctx) }) {
		return Result{}, h.lostError(x.step, errClosed)
	}
	opened, late := x.opened, (<-chan time.Time)(nil)
	for {
		select {
		case <-opened:
			opened, late = nil, time.After(h.dialer.opts.StartTimeout)
		case <-x.done:
			select {
			case err := <-x.cut:
				return x.endTooMuchOutput(err)
			default:
				return x.scriptResult()
			}
		case err := <-x.cut:
			return x.endTooMuchOutput(err)
		case <-ctx.Done():
			r := x.closeOutputs()
			x.abortSession()
			return r, h.ep.newError(kindOfEnd(ctx), x.step, context.Cause(ctx), "the script may still be running")
		case <-late:
			if !x.hasStarted() {
				x.abortSession()
				return Result{}, x.lateStartError()
			}
		}
	}
}
