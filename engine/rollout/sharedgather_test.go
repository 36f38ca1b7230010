package rollout

import (
	"context"
	"testing"

	"holdfast/engine"
)

// TestLookFromBeforeTheHoldDoesNotCount lets a look be under way when a host takes
// its hold. Somebody else's hold may have come after that look had passed its host,
// so the host takes part in one that begins later.
func TestLookFromBeforeTheHoldDoesNotCount(t *testing.T) {
	l := &sharedGather{turn: make(chan struct{}, 1)}
	begun, finish, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = l.gatherSince(t.Context(), func(context.Context, []engine.Host) []engine.Facts {
			close(begun)
			<-finish
			return []engine.Facts{{Host: "before"}}
		})
	}()
	select {
	case <-begun:
	case <-ended:
		t.Fatal("the first host was told without a look")
	}
	asked := make(chan []engine.Facts)
	go func() {
		close(finish) // before or after the question below is asked: neither look may answer it
		seen, _ := l.gatherSince(t.Context(), func(context.Context, []engine.Host) []engine.Facts { return []engine.Facts{{Host: "after"}} })
		asked <- seen
	}()
	if seen := <-asked; len(seen) != 1 || seen[0].Host != "after" {
		t.Errorf("the host was told of %+v, which was seen before it took its hold", seen)
	}
}
