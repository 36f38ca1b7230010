package simulator

import (
	"context"
	"time"
)

// Clock is the time of package time, which is virtual in a bubble of
// testing/synctest.
type Clock struct{}

// Now is the current time.
func (Clock) Now() time.Time { return time.Now() }

// Sleep waits for d, or returns the cause of the context's end when that comes first.
func (Clock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
