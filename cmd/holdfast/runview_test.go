package main

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/event"
	"holdfast/engine/report"
)

// slowView takes a while for each event.
type slowView struct {
	takes time.Duration
	shown atomic.Int64
}

func (v *slowView) Emit(event.Event) error {
	time.Sleep(v.takes)
	v.shown.Add(1)
	return nil
}

// TestLastLinesAreShown checks that a command that was told to end at once shows its last events, and that it does not
// wait for a reader who does not read.
func TestLastLinesAreShown(t *testing.T) {
	for takes, want := range map[time.Duration]bool{100 * time.Millisecond: true, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			view := &slowView{takes: takes}
			q := report.NewQueue(view)
			for range 3 {
				_ = q.Emit(event.Event{Type: event.HostFailed})
			}
			ended, end := context.WithCancel(t.Context())
			end()
			began := time.Now()
			if got := flushInTime(ended, q); got != want || (view.shown.Load() == 3) != want {
				t.Errorf("each event takes %s: shown %v, %d events", takes, got, view.shown.Load())
			}
			if waited := time.Since(began); waited > endPatience {
				t.Errorf("waited for %s", waited)
			}
			time.Sleep(4 * takes) // lets the view end
		})
	}
}
