package content

import (
	"context"

	"holdfast/engine"
)

// expectedSize is the size of a transfer. All hosts that fetch the same content
// share it.
type expectedSize struct {
	known   chan struct{}      // closed when bytes and err are set
	stop    context.CancelFunc // ends the measurement
	waiting int                // hosts that wait for it; the mutex of the server guards it
	bytes   int64
	err     error
}

// findSize computes the size once for all hosts. It fails if the content is not complete: no host can fetch it then. The
// next host tries again, because the mirror may be completed at any time.
func (s *Server) findSize(ctx context.Context, from store, c engine.Content) (int64, error) {
	s.mu.Lock()
	e := s.sizes[c]
	if e == nil {
		e = s.startMeasurement(from, c)
	}
	e.waiting++
	s.mu.Unlock()
	defer s.leaveMeasurement(c, e)
	select {
	case <-e.known:
		return e.bytes, e.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// startMeasurement needs the mutex of the server.
func (s *Server) startMeasurement(from store, c engine.Content) *expectedSize {
	ctx, stop := context.WithCancel(s.ctx)
	e := &expectedSize{known: make(chan struct{}), stop: stop}
	s.sizes[c] = e
	s.work.Go(func() {
		defer stop()
		e.bytes, e.err = from.measureContent(ctx, c)
		if e.err != nil {
			s.mu.Lock()
			s.forgetSize(c, e)
			s.mu.Unlock()
		}
		close(e.known)
	})
	return e
}

// leaveMeasurement stops a measurement for which no host waits.
func (s *Server) leaveMeasurement(c engine.Content, e *expectedSize) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.waiting--; e.waiting > 0 {
		return
	}
	select {
	case <-e.known:
	default:
		e.stop()
		s.forgetSize(c, e)
	}
}

// forgetSize needs the mutex of the server.
func (s *Server) forgetSize(c engine.Content, e *expectedSize) {
	if s.sizes[c] == e {
		delete(s.sizes, c)
	}
}
