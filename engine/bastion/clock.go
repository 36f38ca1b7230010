package bastion

import (
	"context"
	"time"
)

// Clock is the real time.
type Clock struct{}

// Now returns the time.
func (Clock) Now() time.Time { return time.Now() }

// Sleep waits for d. If the context ends earlier, Sleep returns its error.
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
