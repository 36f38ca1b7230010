package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"
)

func classifyConnect(err error) (Kind, string) {
	var dns *net.DNSError
	var channel *ssh.OpenChannelError
	switch {
	case errors.As(err, &channel):
		return classifyChannel(channel)
	case errors.As(err, &dns):
		return Resolve, "check the address in the inventory, or the name service"
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused, "check that sshd runs there on this port"
	case KindOf(err) == Lost:
		return Lost, "the connection to the jump host ended"
	}
	return Unreachable, "check that the host is on and the network works"
}

// classifyChannel returns the kind and a hint for a connection through a jump host. The message contains the error text
// of the jump host's system, which sshd passes on.
func classifyChannel(err *ssh.OpenChannelError) (Kind, string) {
	switch m := strings.ToLower(err.Message); {
	case err.Reason == ssh.Prohibited:
		return Forward, "allow it on the jump host (AllowTcpForwarding, PermitOpen in sshd_config)"
	case strings.Contains(m, "refused"):
		return Refused, "check that sshd runs there on this port"
	case strings.Contains(m, "name or service not known"), strings.Contains(m, "no such host"), strings.Contains(m, "name resolution"):
		return Resolve, "the jump host resolves the name: check the address in the inventory, or its name service"
	}
	return Unreachable, "check that the host is on and that the jump host reaches it"
}

// isSilence reports whether the error of a connection proves that the address does not answer. A refused connection is an answer.
// The bastion or the jump host may cause other errors, such as a network that is unreachable from there.
func isSilence(err error) bool {
	var channel *ssh.OpenChannelError
	if errors.As(err, &channel) {
		return channel.Reason == ssh.ConnectionFailed && slices.ContainsFunc([]string{"no route", "timed out", "host is down"}, func(words string) bool {
			return strings.Contains(strings.ToLower(channel.Message), words)
		})
	}
	return errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ETIMEDOUT) || errors.Is(err, syscall.EHOSTDOWN)
}

// peerError is the message of a host that does not open a channel, without the words that the library adds. The library
// returns the message as the host sent it.
type peerError struct{ err *ssh.OpenChannelError }

// Error returns one line that is safe to print.
func (e peerError) Error() string { return oneLine(cmp.Or(e.err.Message, e.err.Reason.String())) }

func (e peerError) Unwrap() error { return e.err }

// rootCause removes wrapping that repeats the step, such as "dial tcp 10.0.0.1:22: connect:".
func rootCause(err error) error {
	var lost *Error
	var channel *ssh.OpenChannelError
	var dns *net.DNSError
	var op *net.OpError
	var errno syscall.Errno
	switch {
	case errors.As(err, &lost):
		return lost.Err
	case errors.As(err, &channel):
		return peerError{channel}
	case errors.As(err, &dns):
		return dns
	case errors.As(err, &errno):
		return errno
	case errors.As(err, &op):
		return op.Err
	}
	return err
}

func (l *login) connectError(parent context.Context, err error) *Error {
	step := "connect to " + l.ep.Address()
	if l.via != nil {
		step += " through " + l.via.ep.UserAndAddress()
	}
	if e := l.callerEnded(parent, step); e != nil {
		return l.markSilence(e)
	}
	if errors.Is(context.Cause(l.ctx), errLate) {
		return l.markSilence(l.ep.newError(Unreachable, step, fmt.Errorf("no answer within %s", l.ep.ConnectTimeout),
			"check that the host is on and the network works"))
	}
	kind, hint := classifyConnect(err)
	e := l.ep.newError(kind, step, rootCause(err), hint)
	e.Silent = isSilence(err)
	return e
}

// markSilence marks the error of a host that has sent nothing until the time was over.
func (l *login) markSilence(e *Error) *Error {
	e.Silent = l.tried && e.Kind != Canceled
	return e
}

func (l *login) loginError(parent context.Context, conn *activeConn, err error) *Error {
	step := "log in as " + l.ep.UserAndAddress()
	silent := conn.received.Load() == 0
	command, proxied := conn.Conn.(*commandConn)
	if e := l.callerEnded(parent, step); e != nil {
		if silent && !proxied {
			return l.markSilence(e)
		}
		return e
	}
	if l.failure != nil {
		l.failure.Host, l.failure.Address, l.failure.User = l.ep.Name, l.ep.Address(), l.ep.User
		return l.failure
	}
	if strings.Contains(err.Error(), unauthenticated) {
		return l.noKeyError(step, "the host offers these login methods: "+oneLine(strings.Join(l.methods, ", ")))
	}
	if e := l.jumpHostLost(err); e != nil {
		return l.connectError(parent, e)
	}
	late := errors.Is(context.Cause(l.ctx), errLate)
	switch {
	case silent && proxied:
		return l.ep.newError(Unreachable, "connect to "+l.ep.Address()+" with ProxyCommand", command.describeFailure(l.ep, late), "run the ProxyCommand of "+l.ep.ProxyCommand.At+" by hand")
	case late && silent:
		return l.markSilence(l.ep.newError(Unreachable, "connect to "+l.ep.Address(),
			fmt.Errorf("connected, but no SSH greeting within %s", l.ep.ConnectTimeout), "the host may hang, or something else listens there"))
	case late:
		return l.ep.newError(Unreachable, step, fmt.Errorf("login not finished within %s", l.ep.ConnectTimeout), "the host or the network may be overloaded")
	case silent:
		return l.ep.newError(Unreachable, "connect to "+l.ep.Address(), fmt.Errorf("the host closed the connection without an SSH greeting: %w", handshakeCause(err)),
			"it may be starting up or shutting down, or have too many connections (MaxStartups)")
	case strings.Contains(err.Error(), disconnected) && len(l.methods) > 0: // such as after too many keys
		return l.noKeyError(step, err.Error())
	}
	return l.ep.newError(Unreachable, step, handshakeCause(err), "")
}

// These are parts of errors of the SSH library, which exports no types for them.
const (
	unauthenticated = "ssh: unable to authenticate" // no login method is left to try
	disconnected    = "ssh: disconnect"             // the host has sent a disconnect message
)

// handshakeCause leaves out the words that the library puts before each error of a handshake.
func handshakeCause(err error) error {
	if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), "ssh: handshake failed") {
		return inner
	}
	return err
}

func (l *login) noKeyError(step, said string) *Error {
	if len(l.ids.keys) == 0 && l.ids.locked {
		return l.ep.newError(Passphrase, step, errors.New(l.ids.String()), "load the key into an agent, or put its public key beside it (.pub), so that holdfast can ask for the passphrase")
	}
	hint := "check the user, and its authorized_keys on the host"
	if len(l.ids.keys) == 0 {
		hint = "set identity in the ssh block, or start an agent (SSH_AUTH_SOCK)"
	}
	return l.ep.newError(Auth, step, fmt.Errorf("no key was accepted: %s; %s", l.ids, said), hint)
}

func (l *login) callerEnded(parent context.Context, step string) *Error {
	if parent.Err() == nil {
		return nil
	}
	return l.ep.newError(kindOfEnd(parent), step, context.Cause(parent), "")
}

func kindOfEnd(ctx context.Context) Kind {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Timeout
	}
	return Canceled
}
