package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// CheckReach connects from the host to a TCP address. Nothing need listen there: a refused connection has also reached
// the address. An error means that the address was not reached within the limit. If known is false, the result is
// unknown, and the error is the reason.
func (h *Host) CheckReach(ctx context.Context, addr string, limit time.Duration) (known bool, err error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := h.Dial(limited, "tcp", addr)
	var answer *ssh.OpenChannelError
	switch {
	case err == nil:
		_ = conn.Close() // it has reached the address
		return true, nil
	case errors.As(err, &answer) && KindOf(err) == Refused:
		return true, nil
	case errors.As(err, &answer) && (KindOf(err) == Resolve || isBlocked(answer)):
		return true, errors.New(peerError{answer}.Error())
	case limited.Err() != nil && ctx.Err() == nil && h.answersKeepAlive(ctx, limit):
		return true, fmt.Errorf("no answer within %s", limit)
	}
	return false, err
}

// isBlocked reports whether a connection has failed on its way. sshd has the error text of its system only if that has sent a packet: the
// text "open failed" may mean anything.
func isBlocked(answer *ssh.OpenChannelError) bool {
	return answer.Reason == ssh.ConnectionFailed && slices.ContainsFunc([]string{"no route", "unreachable", "timed out"}, func(words string) bool {
		return strings.Contains(strings.ToLower(answer.Message), words)
	})
}

// answersKeepAlive reports whether the host answers a keepalive within the limit. Otherwise the connection to it may be interrupted.
func (h *Host) answersKeepAlive(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answered := make(chan bool, 1)
	if !h.startWork(func() { answered <- h.sendKeepAlive() }) {
		return false
	}
	select {
	case ok := <-answered:
		return ok
	case <-ctx.Done():
		return false
	}
}
