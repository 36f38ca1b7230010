package report_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"holdfast/engine/event"
	"holdfast/engine/report"
)

// TestQueueDoesNotWait checks that a view that does not return stops nobody, and that it then gets every event in order.
func TestQueueDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := make(chan struct{})
		var shown []int
		q := report.NewQueue(sinkFunc(func(e event.Event) error {
			<-read
			shown = append(shown, e.Seq)
			return nil
		}))
		want := []int{1, 2, 3, 4}
		for _, n := range want[:3] {
			if err := q.Emit(event.Event{Seq: n}); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		ended, end := context.WithCancel(t.Context())
		end()
		if q.Flush(ended) {
			t.Error("the view has shown nothing")
		}
		close(read)
		if !q.Flush(t.Context()) {
			t.Error("the view has shown all")
		}
		if err := q.Emit(event.Event{Seq: 4}); err != nil || !q.Flush(t.Context()) || !slices.Equal(shown, want) {
			t.Errorf("%v, shown %v", err, shown)
		}
	})
}
