package remote

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// maxSessions bounds the sessions of a connection. sshd's default for MaxSessions is 10. Two are left for sessions that
// sshd has not finished closing.
const maxSessions = 8

// slots bounds the sessions of a connection.
type slots struct {
	taken chan struct{}
	lost  atomic.Int32 // slots that are no longer used
	used  atomic.Bool  // a session was opened before
}

func (s *slots) acquireSlot(ctx context.Context, h *Host, step string) error {
	if ctx.Err() != nil { // select would choose at random between a free slot and the end
		return h.contextError(ctx, step)
	}
	select {
	case s.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return h.contextError(ctx, step)
	case <-h.done:
		return h.lostError(step, errClosed)
	}
}

func (s *slots) releaseSlot() { <-s.taken }

// openSession takes a slot and opens a session. A host may refuse the session because it allows fewer than maxSessions.
// Then the slot stays taken for good, which lowers the limit of this connection to the limit of the host, and
// openSession waits for another slot.
func (s *slots) openSession(ctx context.Context, h *Host, step string) (*ssh.Session, error) {
	for tries := 0; ; {
		if err := s.acquireSlot(ctx, h, step); err != nil {
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
			s.releaseSlot()
			return nil, h.lostError(step, err)
		case s.giveUpSlot():
		case s.used.Load() && tries < maxTries: // the host may not have noticed yet that the last session has ended
			s.releaseSlot()
			tries++
			select {
			case <-time.After(time.Duration(tries) * tryAgain):
			case <-ctx.Done():
			}
		default:
			s.releaseSlot()
			return nil, h.ep.newError(NoShell, step, rootCause(err), "the host opens no session (MaxSessions in sshd_config)")
		}
	}
}

// openSession repeats a session that is refused although no other is open, for about a second.
const (
	maxTries = 10
	tryAgain = 20 * time.Millisecond
)

// giveUpSlot gives up the caller's slot for good. It returns false if no other session is open: then no slot would ever
// become free.
func (s *slots) giveUpSlot() bool {
	lost := s.lost.Load()
	others := int32(len(s.taken)) - lost - 1
	return others > 0 && lost < maxSessions-1 && s.lost.CompareAndSwap(lost, lost+1)
}
