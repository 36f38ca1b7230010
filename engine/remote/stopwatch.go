package remote

import (
	"sync"
	"time"
)

// stopwatch calls a function after some time. Pauses do not count.
type stopwatch struct {
	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration // remaining time at the last start
	since time.Time     // time of the last start
}

func startStopwatch(d time.Duration, f func()) *stopwatch {
	return &stopwatch{timer: time.AfterFunc(d, f), left: d, since: time.Now()}
}

func (s *stopwatch) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer.Stop() {
		s.left -= time.Since(s.since)
	}
}

func (s *stopwatch) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Now()
	s.timer.Reset(max(s.left, time.Millisecond))
}

func (s *stopwatch) stop() { s.timer.Stop() }
