package remote

import (
	"sync"
	"time"
)

// stopwatch calls a function after a time, without pauses.
type stopwatch struct {
	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration // when it was last started
	since time.Time     // that moment
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
