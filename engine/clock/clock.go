// Package clock has the real time.
package clock

import (
	"context"
	"time"
)

// Real is the clock of this machine, or the virtual one in a bubble of testing/synctest.
type Real struct{}

// Now returns the time.
func (Real) Now() time.Time { return time.Now() }

// Sleep waits for d. If the context ends earlier, Sleep returns its cause.
func (Real) Sleep(ctx context.Context, d time.Duration) error { return Sleep(ctx, d) }

// Sleep waits for d. If the context ends earlier, Sleep returns its cause.
func Sleep(ctx context.Context, d time.Duration) error {
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
