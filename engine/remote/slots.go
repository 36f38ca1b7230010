package remote

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// maxSessions is how many sessions one connection has at a time. sshd's MaxSessions is 10 by default; two are left for those it
// has not finished closing.
const maxSessions = 8

// slots bounds the sessions of a connection.
type slots struct {
	taken chan struct{}
	lost  atomic.Int32 // slots that will not be used again
	used  atomic.Bool  // a session was opened before
}

// acquire waits for a slot.
func (s *slots) acquire(ctx context.Context, h *Host, step string) error {
	select {
	case s.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return h.ep.fail(endKind(ctx), step, context.Cause(ctx), "")
	case <-h.done:
		return h.lost(step, errClosed)
	}
}

func (s *slots) release() { <-s.taken }

// open takes a slot and opens a session. A host that allows fewer sessions than maxSessions refuses one: then that slot stays
// taken for good, so that the bound sinks to what the host allows, and the next to become free is waited for.
func (s *slots) open(ctx context.Context, h *Host, step string) (*ssh.Session, error) {
	for tries := 0; ; {
		if err := s.acquire(ctx, h, step); err != nil {
			return nil, err
		}
		session, err := h.client.NewSession()
		if err == nil {
			s.used.Store(true)
			return session, nil
		}
		var refused *ssh.OpenChannelError
		switch {
		case !errors.As(err, &refused):
			s.release()
			return nil, h.lost(step, err)
		case s.shrink():
		case s.used.Load() && tries < maxTries: // the host has not yet noticed that the last one ended
			s.release()
			tries++
			pause(ctx, time.Duration(tries)*tryAgain)
		default:
			s.release()
			return nil, h.ep.fail(NoShell, step, rootCause(err), "the host opens no session (MaxSessions in sshd_config)")
		}
	}
}

// A host that refuses a session although none is open is asked again for about a second.
const (
	maxTries = 10
	tryAgain = 20 * time.Millisecond
)

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// shrink gives up the caller's slot for good, unless no other session is open whose end could help.
func (s *slots) shrink() bool {
	lost := s.lost.Load()
	others := int32(len(s.taken)) - lost - 1
	return others > 0 && lost < maxSessions-1 && s.lost.CompareAndSwap(lost, lost+1)
}
