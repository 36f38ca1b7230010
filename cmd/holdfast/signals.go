package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/sourcegraph/conc"

	"holdfast/engine/rollout"
)

// signals are the operator's two wishes: to stop at a safe point (the first
// Ctrl-C) and to stop now (the second). Both are one until gently is called,
// by the command that has safe points. It says whether what it shows tells the
// operator what comes of them, so that nobody else has to.
type signals struct {
	soft   context.Context
	hard   context.Context
	gently func(told bool)
	stop   func()
}

func catchSignals(stderr *os.File) signals {
	hard, cancelHard := context.WithCancel(context.Background())
	soft, cancelSoft := context.WithCancel(hard)
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	var wait conc.WaitGroup
	done := make(chan struct{})
	var gentle, silent atomic.Bool
	tell := func(message string) {
		if !silent.Load() {
			fmt.Fprintln(stderr, "\nholdfast: "+message)
		}
	}
	wait.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-caught:
			}
			if !gentle.Load() {
				tell("stopped")
				cancelHard()
				continue
			}
			if soft.Err() == nil {
				cancelSoft() // before it is said: a terminal may be stopped
				tell(rollout.Stopping)
				continue
			}
			cancelHard()
			tell(rollout.StoppingAtOnce)
		}
	})
	stop := func() {
		signal.Stop(caught)
		close(done)
		wait.Wait()
		cancelSoft()
		cancelHard()
	}
	gently := func(told bool) {
		silent.Store(told)
		gentle.Store(true)
	}
	return signals{soft: soft, hard: hard, gently: gently, stop: stop}
}
