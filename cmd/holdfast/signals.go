package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/sourcegraph/conc"
)

// signals are the operator's two wishes: to stop at a safe point (the first
// Ctrl-C) and to stop now (the second). Both are one until gently is called,
// by the command that has safe points.
type signals struct {
	soft   context.Context
	hard   context.Context
	gently func()
	stop   func()
	talk   *talk
}

// talk is how the operator is told: on standard error, unless something else
// has the terminal.
type talk struct {
	mu   sync.Mutex
	say  func(string) bool // nil, or false if it has not said it
	last *os.File
}

func (t *talk) tell(message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.say == nil || !t.say(message) {
		fmt.Fprintln(t.last, "\n"+message)
	}
}

func (t *talk) through(say func(string) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.say = say
}

func catchSignals(stderr *os.File) signals {
	hard, cancelHard := context.WithCancel(context.Background())
	soft, cancelSoft := context.WithCancel(hard)
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	var wait conc.WaitGroup
	done := make(chan struct{})
	talk := &talk{last: stderr}
	var gentle atomic.Bool
	wait.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-caught:
			}
			if !gentle.Load() {
				talk.tell("holdfast: stopped.")
				cancelHard()
				continue
			}
			if soft.Err() == nil {
				cancelSoft() // before it is said: a terminal may be stopped
				talk.tell("holdfast: stopping: no new batch; each host goes to a safe point and is released. Once more stops at once and leaves holds.")
				continue
			}
			cancelHard()
			talk.tell("holdfast: stopping at once; holds stay on the hosts.")
		}
	})
	stop := func() {
		signal.Stop(caught)
		close(done)
		wait.Wait()
		cancelSoft()
		cancelHard()
	}
	return signals{soft: soft, hard: hard, gently: func() { gentle.Store(true) }, stop: stop, talk: talk}
}
