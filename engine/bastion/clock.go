package bastion

import (
	"context"
	"time"
)

// Clock is the real time.
type Clock struct{}

// Now returns the time.
func (Clock) Now() time.Time { return time.Now() }

// Sleep waits, and returns early with the error of a context that ends.
func (Clock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
