package content

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
)

// slowStore measures contents until finish is closed or the context is done.
type slowStore struct {
	finish   chan struct{}
	stopped  int // measurements that their contexts ended
	measured int
}

func (s *slowStore) measureContent(ctx context.Context, _ engine.Content) (int64, error) {
	select {
	case <-s.finish:
		s.measured++
		return 1000, nil
	case <-ctx.Done():
		s.stopped++
		return 0, ctx.Err()
	}
}

func (s *slowStore) verifyContent(context.Context, engine.Content) error { return nil }

func (s *slowStore) newHandler(context.Context, engine.Content, *progress) (http.Handler, error) {
	return http.NotFoundHandler(), nil
}

func (s *slowStore) Close() error { return nil }

// prepareAsync returns a channel with the error of PrepareTransfer for a host.
func prepareAsync(ctx context.Context, s *Server, host string) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := s.PrepareTransfer(ctx, Transfer{Host: host, Content: engine.Content{Commit: strings.Repeat("1", 64)}})
		ended <- err
	}()
	return ended
}

// TestHostsWaitForTheSizeWithTheirContexts checks that a host that is stopped does not wait for the size of the content,
// that the other host still gets it, and that the measurement stops when nobody waits.
func TestHostsWaitForTheSizeWithTheirContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowStore{finish: make(chan struct{})}
		s := NewServer(engine.Mirror{})
		s.stores[commits] = slow
		defer func() { _ = s.Close() }()
		stopCause := errors.New("stopped by the operator")
		ctx, stop := context.WithCancelCause(t.Context())

		first := prepareAsync(ctx, s, "a")
		synctest.Wait()
		stop(stopCause)
		if err := <-first; !errors.Is(err, stopCause) {
			t.Errorf("the only host: %v", err)
		}
		if synctest.Wait(); slow.stopped != 1 {
			t.Error("the measurement goes on although nobody waits")
		}

		ctx, stop = context.WithCancelCause(t.Context())
		second, third := prepareAsync(ctx, s, "b"), prepareAsync(t.Context(), s, "c")
		synctest.Wait()
		stop(stopCause)
		if err := <-second; !errors.Is(err, stopCause) {
			t.Errorf("one of two hosts: %v", err)
		}
		close(slow.finish)
		if err := <-third; err != nil || slow.measured != 1 || slow.stopped != 1 {
			t.Errorf("the other host: %v after %d measurements, %d stopped ones", err, slow.measured, slow.stopped)
		}
	})
}
