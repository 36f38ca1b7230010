package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/rollout"
	"holdfast/engine/textutil"
)

// signals are the operator's two wishes: to stop at a safe point (the first
// Ctrl-C, or a lost terminal) and to stop now (the second Ctrl-C). Both are one
// until gently is called, by the command that has safe points. It says whether
// what it shows tells the operator what comes of them, so that nobody else has to.
//
// Whatever the program does then, it ends: lastResort after the wish to stop now, or with the next signal. A read from a disk that
// hangs, for one, hears of no context.
type signals struct {
	soft   context.Context
	hard   context.Context
	gently func(told bool)
	stop   func()
}

// lastResort is how long the program may take to end by itself. Commands on the bastion are killed before that.
const lastResort = 10 * time.Second

func catchSignals(stderr *os.File, waits *waits) signals {
	hard, cancelHard := context.WithCancel(context.Background())
	soft, cancelSoft := context.WithCancel(hard)
	caught := make(chan os.Signal, 4)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup wants it
		signal.Notify(caught, syscall.SIGHUP)
	}
	var wait conc.WaitGroup
	done := make(chan struct{})
	var gentle, silent atomic.Bool
	tell := func(message string) {
		if !silent.Load() {
			fmt.Fprintln(stderr, "\nholdfast: "+message)
		}
	}
	var late <-chan time.Time // once hard has ended
	end := func() {
		cancelHard()
		late = time.After(lastResort)
	}
	wait.Go(func() {
		for {
			var got os.Signal
			select {
			case <-done:
				return
			case <-late:
				endByForce(stderr, waits)
			case got = <-caught:
			}
			if hard.Err() != nil {
				if got != syscall.SIGHUP {
					endByForce(stderr, waits)
				}
				continue
			}
			if !gentle.Load() {
				tell("stopped")
				end()
				continue
			}
			if soft.Err() == nil {
				cancelSoft() // before it is said: a terminal may be stopped
				tell(rollout.Stopping)
				continue
			}
			if got == syscall.SIGHUP {
				continue // a lost terminal is told of by the kernel and by the shell
			}
			end()
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

// endByForce ends the process, and says what it was waiting for.
func endByForce(stderr *os.File, waits *waits) {
	text := "ended, although something still goes on"
	if list := waits.listWaits(); len(list) > 0 {
		text = "ended while " + strings.Join(list, "; ")
	}
	fmt.Fprintln(stderr, "\nholdfast: "+textutil.Printable(text))
	os.Exit(int(engine.ExitStopped))
}

// outlastReader makes that nobody reads stdout or stderr any more an error of
// what is written there, and not the end of the process, for commands that must
// not end in the midst of their work. Commands that holdfast starts are not
// touched by it.
func outlastReader() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // ignored, it would be in children, too
}
