package remote

import (
	"cmp"
	"errors"
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

// peerError is the message of a host that does not open a channel, without the words that the library adds. The library returns the
// message as the host sent it.
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
