package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc"
	"golang.org/x/crypto/ssh"
)

// Host is a connection to one host. Its methods may be called from several goroutines. When the connection ends, whatever uses
// it ends with an *Error of kind Lost; it does not come back, dial again.
type Host struct {
	dialer *Dialer
	ep     endpoint
	client *ssh.Client
	conn   *activeConn
	slots  slots
	sudo   sudo
	done   chan struct{}

	measured  chan struct{} // closed when roundTrip is known
	roundTrip atomic.Int64  // nanoseconds

	mu      sync.Mutex
	cause   error // why the connection ended
	closed  bool  // nothing more may be started
	tunnels map[*tunnel]struct{}
	work    conc.WaitGroup
}

// endCauseWait is how long the reason of an end is waited for.
const endCauseWait = 200 * time.Millisecond

// errClosed is the cause of the end when Close was called.
var errClosed = errors.New("the connection was closed here")

// errHostClosed is the cause of the end when the host ended it.
var errHostClosed = errors.New("the host closed the connection")

func newHost(d *Dialer, ep endpoint, client *ssh.Client, conn *activeConn) *Host {
	h := &Host{
		dialer: d, ep: ep, client: client, conn: conn,
		slots: slots{taken: make(chan struct{}, maxSessions)},
		sudo:  sudo{mu: make(chan struct{}, 1)},
		done:  make(chan struct{}), measured: make(chan struct{}),
		tunnels: map[*tunnel]struct{}{},
	}
	h.startWork(h.awaitEnd)
	h.startWork(func() {
		if h.sendKeepAlive() {
			close(h.measured)
		}
	})
	h.startWork(h.watchPeer)
	return h
}

// Done is closed when the connection has ended, for whatever reason.
func (h *Host) Done() <-chan struct{} { return h.done }

// Close ends the connection and everything that uses it. Scripts that run on the host are not ended by it.
func (h *Host) Close() error {
	h.endConnection(errClosed)
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.work.Wait()
	return nil
}

// endConnection closes the connection; the first cause given is the one that is told.
func (h *Host) endConnection(cause error) {
	h.mu.Lock()
	if h.cause == nil {
		h.cause = cause
	}
	h.mu.Unlock()
	_ = h.conn.Close() // not client.Close, which would wait for a lock that a stuck write may hold
}

// awaitEnd waits for the end of the connection and lets go of everything that uses it.
func (h *Host) awaitEnd() {
	err := h.client.Wait()
	_ = h.conn.Close()
	h.mu.Lock()
	if h.cause == nil {
		h.cause = errHostClosed
		if !errors.Is(err, io.EOF) {
			h.cause = fmt.Errorf("%w: %w", errHostClosed, err)
		}
	}
	h.mu.Unlock()
	close(h.done)
	h.closeTunnels()
}

// watchPeer asks a silent peer for a sign of life and ends the connection after too many intervals without one. Whatever arrives
// counts: an answer may queue behind data.
func (h *Host) watchPeer() {
	tick := time.NewTicker(h.ep.keepAlive)
	defer tick.Stop()
	limit := h.ep.keepAlive * time.Duration(h.ep.keepAliveCount)
	asking := make(chan struct{}, 1)
	for {
		select {
		case <-h.done:
			return
		case <-tick.C:
		}
		silent := h.conn.silentFor()
		if silent >= limit {
			h.endConnection(fmt.Errorf("no sign of life for %s", silent.Round(time.Millisecond)))
			return
		}
		if silent < h.ep.keepAlive/2 {
			continue
		}
		select {
		case asking <- struct{}{}:
			h.startWork(func() {
				h.sendKeepAlive()
				<-asking
			})
		default:
		}
	}
}

// sendKeepAlive asks for a sign of life and measures how long it takes. What the answer says does not matter, and its absence shows as silence.
func (h *Host) sendKeepAlive() bool {
	began := time.Now()
	_, _, err := h.client.SendRequest("keepalive@openssh.com", true, nil)
	if err == nil {
		h.roundTrip.Store(int64(time.Since(began)))
	}
	return err == nil
}

// RoundTrip returns how long a question to the host and its answer were last under way; 0 if that is not known yet.
func (h *Host) RoundTrip() time.Duration { return time.Duration(h.roundTrip.Load()) }

// AwaitRoundTrip returns when RoundTrip is known, or the connection or the context has ended.
func (h *Host) AwaitRoundTrip(ctx context.Context) {
	select {
	case <-h.measured:
	case <-h.done:
	case <-ctx.Done():
	}
}

// startWork runs f in a goroutine that Close waits for, and reports false if the host is closed. f must end when the connection does.
func (h *Host) startWork(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.work.Go(f)
	return true
}

// lostError returns the error for something that ended because the connection did.
func (h *Host) lostError(step string, err error) *Error {
	if cause := h.endCause(); cause != nil {
		err = cause
	}
	return h.ep.newError(Lost, step, err, "")
}

// endCause returns why the connection ended, or nil. Channels end a moment before the connection is known to have ended, and why:
// that moment is waited for.
func (h *Host) endCause() error {
	select {
	case <-h.done:
	case <-time.After(endCauseWait):
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause
}

// isAlive reports whether the connection has not ended yet.
func (h *Host) isAlive() bool {
	select {
	case <-h.done:
		return false
	default:
		return true
	}
}
