package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sourcegraph/conc"
)

// signals are the operator's two wishes: to stop at a safe point (the first
// Ctrl-C) and to stop now (the second).
type signals struct {
	soft context.Context
	hard context.Context
	stop func()
}

func catchSignals(stderr *os.File) signals {
	hard, cancelHard := context.WithCancel(context.Background())
	soft, cancelSoft := context.WithCancel(hard)
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	var wait conc.WaitGroup
	done := make(chan struct{})
	wait.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-caught:
			}
			if soft.Err() == nil {
				fmt.Fprintln(stderr, "\nholdfast: stopping: no new batch; each host goes to a safe point and is released. Once more stops at once and leaves holds.")
				cancelSoft()
				continue
			}
			fmt.Fprintln(stderr, "\nholdfast: stopping at once; holds stay on the hosts.")
			cancelHard()
		}
	})
	stop := func() {
		signal.Stop(caught)
		close(done)
		wait.Wait()
		cancelSoft()
		cancelHard()
	}
	return signals{soft: soft, hard: hard, stop: stop}
}
