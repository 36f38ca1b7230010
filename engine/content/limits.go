package content

import (
	"context"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/clock"
)

// limits bounds the rate of each host and of all hosts together. Each host has at most one booking in the bucket total,
// so that its share does not depend on its number of connections.
type limits struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error

	mu       sync.Mutex
	total    bucket
	hosts    map[string]*hostLimit
	hostRate int64 // for every host; 0: no limit
}

// hostLimit bounds the rate of one host.
type hostLimit struct {
	turn   chan struct{} // full while a connection of the host books bytes
	bucket bucket
}

func newLimits(total, host int64) *limits {
	return &limits{now: time.Now, sleep: clock.Sleep, total: bucket{rate: total}, hosts: map[string]*hostLimit{}, hostRate: host}
}

func (l *limits) hostLimit(host string) *hostLimit {
	h := l.hosts[host]
	if h == nil {
		h = &hostLimit{turn: make(chan struct{}, 1), bucket: bucket{rate: l.hostRate}}
		l.hosts[host] = h
	}
	return h
}

// setRate changes the rate of a host, but not beyond the rate for every host. A rate of 0 ends an earlier change.
func (l *limits) setRate(host string, rate int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rate > 0 {
		rate = max(rate, engine.MinMirrorRate)
	}
	if rate <= 0 || l.hostRate > 0 && rate > l.hostRate {
		rate = l.hostRate
	}
	l.hostLimit(host).bucket.rate = rate
}

func (l *limits) waitToSend(ctx context.Context, host string, n int) error {
	l.mu.Lock()
	h := l.hostLimit(host)
	l.mu.Unlock()
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := l.waitForBucket(ctx, &h.bucket, n); err != nil {
		return err
	}
	return l.waitForBucket(ctx, &l.total, n)
}

func (l *limits) waitForBucket(ctx context.Context, b *bucket, n int) error {
	l.mu.Lock()
	now := l.now()
	due := b.bookBytes(now, n)
	l.mu.Unlock()
	if !due.After(now) {
		return ctx.Err()
	}
	return l.sleep(ctx, due.Sub(now))
}
