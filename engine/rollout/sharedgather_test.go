package rollout

import (
	"context"
	"testing"

	"holdfast/engine"
)

// TestGatherFromBeforeTheHoldDoesNotCount begins to gather before a host takes
// its hold. Another hold may appear after its host was read, so these facts do
// not count for the waiting host. That host takes part in the next round.
func TestGatherFromBeforeTheHoldDoesNotCount(t *testing.T) {
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
		t.Fatal("the first host got an answer, and nothing was gathered")
	}
	asked := make(chan []engine.Facts)
	go func() {
		close(finish) // before or after the next question; neither round may answer it
		seen, _ := l.gatherSince(t.Context(), func(context.Context, []engine.Host) []engine.Facts { return []engine.Facts{{Host: "after"}} })
		asked <- seen
	}()
	if seen := <-asked; len(seen) != 1 || seen[0].Host != "after" {
		t.Errorf("the host was told of %+v, which was seen before it took its hold", seen)
	}
}
