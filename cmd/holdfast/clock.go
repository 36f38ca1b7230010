package main

import (
	"context"
	"time"
)

// clock is the real time.
type clock struct{}

// Now returns the time.
func (clock) Now() time.Time { return time.Now() }

// Sleep waits, and returns early with the error of a context that ends.
func (clock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
