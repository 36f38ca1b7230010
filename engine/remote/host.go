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

// Host is a connection to one host. Its methods may be called from several goroutines. When the connection ends, all
// its users get an *Error of kind Lost, and the Host cannot be used any more.
type Host struct {
	dialer *Dialer
	ep     endpoint
	client *ssh.Client
	conn   *activeConn
	slots  slots
	sudo   *sudo
	done   chan struct{}

	measure   sync.Once     // starts the first measurement
	measured  chan struct{} // closed when roundTrip is known
	roundTrip atomic.Int64  // nanoseconds

	mu       sync.Mutex
	cause    error // why the connection ended
	closed   bool  // no more work may start
	tunnels  map[*tunnel]struct{}
	accepted int // tunnels that the host has opened
	work     conc.WaitGroup
}

// endCauseWait bounds the wait for the cause of the end of a connection.
const endCauseWait = 200 * time.Millisecond

// errClosed is the cause after a call of Close.
var errClosed = errors.New("the connection was closed here")

var errHostClosed = errors.New("the host closed the connection")

func newHost(d *Dialer, ep endpoint, client *ssh.Client, conn *activeConn) *Host {
	h := &Host{
		dialer: d, ep: ep, client: client, conn: conn,
		slots: slots{taken: make(chan struct{}, maxSessions)},
		sudo:  newSudo(),
		done:  make(chan struct{}), measured: make(chan struct{}),
		tunnels: map[*tunnel]struct{}{},
	}
	h.startWork(h.awaitEnd)
	h.startWork(h.watchPeer)
	return h
}

// Done is closed when the connection has ended for any reason.
func (h *Host) Done() <-chan struct{} { return h.done }

// Close ends the connection and everything that uses it. Scripts on the host
// may continue to run.
func (h *Host) Close() error {
	h.endConnection(errClosed)
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.work.Wait()
	return nil
}

func (h *Host) endConnection(cause error) {
	h.mu.Lock()
	if h.cause == nil {
		h.cause = cause
	}
	h.mu.Unlock()
	_ = h.conn.Close() // not client.Close, which waits for a lock that a stuck write may hold
}

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

// watchPeer sends keepalives to a silent peer, and ends the connection after too many intervals without any data. All
// data counts, because an answer may queue behind other data. An interval counts only if this process ran, and not if it
// was stopped (Ctrl-Z): a peer that was not asked has not failed to answer.
func (h *Host) watchPeer() {
	tick := time.NewTicker(h.ep.KeepAlive)
	defer tick.Stop()
	limit := h.ep.KeepAlive * time.Duration(h.ep.KeepAliveCount)
	asking := make(chan struct{}, 1)
	unanswered, heard := -1, int64(0) // intervals since the first keepalive without an answer; bytes received until the last tick
	for {
		select {
		case <-h.done:
			return
		case <-tick.C:
		}
		if received := h.conn.received.Load(); received != heard {
			unanswered, heard = -1, received
		}
		silent := h.conn.silentFor()
		if silent < h.ep.KeepAlive/2 {
			continue
		}
		unanswered++
		if silent >= limit && unanswered >= max(1, h.ep.KeepAliveCount-1) {
			h.endConnection(fmt.Errorf("no answer for %s", silent.Round(time.Millisecond)))
			return
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

// sendKeepAlive measures the round trip of a keepalive. The content of the answer does not matter. watchPeer notices a
// missing answer as silence.
func (h *Host) sendKeepAlive() bool {
	began := time.Now()
	_, _, err := h.client.SendRequest("keepalive@openssh.com", true, nil)
	if err == nil {
		h.roundTrip.Store(int64(time.Since(began)))
	}
	return err == nil
}

// RoundTrip returns the last measured round trip to the host, or 0 if there is none yet.
func (h *Host) RoundTrip() time.Duration { return time.Duration(h.roundTrip.Load()) }

// MeasureRoundTrip starts the first measurement, and does not wait for it.
func (h *Host) MeasureRoundTrip() {
	h.measure.Do(func() {
		h.startWork(func() {
			if h.sendKeepAlive() {
				close(h.measured)
			}
		})
	})
}

// AwaitRoundTrip waits until RoundTrip is known, or the connection or the context has ended.
func (h *Host) AwaitRoundTrip(ctx context.Context) {
	h.MeasureRoundTrip()
	select {
	case <-h.measured:
	case <-h.done:
	case <-ctx.Done():
	}
}

// startWork runs f in a goroutine that Close waits for, and returns false if the host is closed. f must end with the connection.
func (h *Host) startWork(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.work.Go(f)
	return true
}

func (h *Host) contextError(ctx context.Context, step string) *Error {
	return h.ep.newError(kindOfEnd(ctx), step, context.Cause(ctx), "")
}

func (h *Host) lostError(step string, err error) *Error {
	if cause := h.endCause(); cause != nil {
		err = cause
	}
	return h.ep.newError(Lost, step, err, "")
}

// endCause returns the reason why the connection ended, or nil. It waits for endCauseWait, because channels end
// slightly before the connection.
func (h *Host) endCause() error {
	select {
	case <-h.done:
	case <-time.After(endCauseWait):
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause
}

func (h *Host) isAlive() bool {
	select {
	case <-h.done:
		return false
	default:
		return true
	}
}
