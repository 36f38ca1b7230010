package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Run runs a script and returns when it has ended, with its exit status in the Result. The error is an *Error and concerns
// everything but the script: the connection, sudo, time, the context. With an error, the Result holds what had arrived.
//
// When ctx ends or the Timeout is over, Run asks the host to end the script (SIGTERM, which sshd does not deliver to root's
// scripts), closes the session and returns at once: the script may still be running.
func (h *Host) Run(ctx context.Context, c Command) (Result, error) {
	step := "run a script"
	if closer, ok := c.Stdin.(io.Closer); ok {
		defer func() { _ = closer.Close() }()
	}
	if err := c.check(h.ep); err != nil {
		return Result{}, h.ep.fail(Config, step, err, "")
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, limit(c.Timeout))
		defer cancel()
	}
	if c.MaxOutput <= 0 {
		c.MaxOutput = defaultMaxOutput
	}
	if !c.Become || h.ep.user == "root" {
		return h.execute(ctx, c, lineUser, nil)
	}
	password, err := h.sudo.known(ctx)
	if err == nil && password == nil {
		// Without a password first: most hosts want none, and data is sent only after the script has started.
		var r Result
		r, err = h.execute(ctx, c, lineSudo, nil)
		if !errors.Is(err, errPasswordNeeded) || h.dialer.opts.Secrets == nil {
			return r, err
		}
		needed := err
		password, err = h.sudo.ask(ctx, h)
		if err == nil && password == nil {
			return r, needed
		}
	}
	if err != nil {
		return Result{}, h.unasked(ctx, err)
	}
	return h.execute(ctx, c, linePassword, password)
}

// limit is the cause of the end when a command's time is over.
type limit time.Duration

// Error says how long it had.
func (l limit) Error() string { return fmt.Sprintf("not finished within %s", time.Duration(l)) }

// Unwrap makes it a context.DeadlineExceeded.
func (l limit) Unwrap() error { return context.DeadlineExceeded }

// unasked returns the error for a password that nobody gave.
func (h *Host) unasked(ctx context.Context, err error) error {
	step := "ask for the sudo password"
	if KindOf(err) != 0 {
		return err
	}
	if ctx.Err() != nil {
		return h.ep.fail(endKind(ctx), step, context.Cause(ctx), "")
	}
	return h.ep.fail(SudoPassword, step, err, "")
}

// cutOff ends a script that printed too much, and forgets its output.
func (x *execution) cutOff(err error) (Result, error) {
	x.abort()
	return Result{}, x.host.ep.fail(TooMuch, x.step, err, "the script may still be running; find out on the host why it prints so much")
}

// execute runs a script with one of the command lines.
func (h *Host) execute(ctx context.Context, c Command, commandLine string, password []byte) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	x := newExecution(ctx, h, c, commandLine, password)
	defer x.allowance.close()
	defer cancel()
	if !h.spawn(func() { x.run(ctx) }) {
		return Result{}, h.lost(x.step, errClosed)
	}
	opened, late := x.opened, (<-chan time.Time)(nil)
	for {
		select {
		case <-opened:
			opened, late = nil, time.After(h.dialer.opts.StartTimeout)
		case <-x.done:
			select {
			case err := <-x.cut:
				return x.cutOff(err)
			default:
				return x.result()
			}
		case err := <-x.cut:
			return x.cutOff(err)
		case <-ctx.Done():
			r := x.partial()
			x.abort()
			return r, h.ep.fail(endKind(ctx), x.step, context.Cause(ctx), "the script may still be running")
		case <-late:
			if !x.started() {
				x.abort()
				return Result{}, x.explainLate()
			}
		}
	}
}
