package hosttest

import (
	"context"
	"time"
)

// Clock is the time of package time, which is virtual in a bubble of
// testing/synctest.
type Clock struct{}

// Now is the current time.
func (Clock) Now() time.Time { return time.Now() }

// Sleep waits for d, or returns the context's error when that ends first.
func (Clock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
