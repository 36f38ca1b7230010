package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/input"
	"holdfast/engine/rollout"
	"holdfast/engine/textutil"
)

// signals has a context for each request of the operator. soft ends when the
// command must stop at a safe point: at the first Ctrl-C or SIGTERM, or when the
// terminal is lost (SIGHUP). hard ends when it must stop now: at the second
// Ctrl-C or SIGTERM. A command that has safe points calls gently. Before this
// call, the first of these signals ends both contexts. After gently(true), no
// signal prints a message, because the output of the command shows its effect.
//
// Some operations ignore every context, such as a read from a disk that does not
// answer. So the program exits by force at a Ctrl-C or SIGTERM after hard has
// ended, or when lastResort has passed since then.
type signals struct {
	soft     context.Context
	hard     context.Context
	gently   func(shown bool)
	stop     func()
	messages messages
}

// lastResort is how long the program may take to end after the request to stop
// now. Commands on the bastion are killed earlier.
const lastResort = 10 * time.Second

func catchSignals(stderr *os.File, waits *input.Waits) signals {
	hard, cancelHard := context.WithCancel(context.Background())
	soft, cancelSoft := context.WithCancel(hard)
	l := &signalLoop{messages: newMessages(stderr), waits: waits, soft: soft, hard: hard, cancelSoft: cancelSoft, cancelHard: cancelHard}
	caught := make(chan os.Signal, 4)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // under nohup it is ignored
		signal.Notify(caught, syscall.SIGHUP)
	}
	var wait conc.WaitGroup
	done := make(chan struct{})
	wait.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-l.late:
				l.endByForce()
			case got := <-caught:
				l.handleSignal(got)
			}
		}
	})
	stop := func() {
		signal.Stop(caught)
		close(done)
		wait.Wait()
		cancelSoft()
		cancelHard()
		l.messages.flushMessages(endPatience)
	}
	gently := func(shown bool) {
		l.silent.Store(shown)
		l.gentle.Store(true)
	}
	return signals{soft: soft, hard: hard, gently: gently, stop: stop, messages: l.messages}
}

// signalLoop ends two contexts when the operator sends signals. It never waits for the reader of its messages, except before it exits.
type signalLoop struct {
	messages               messages
	waits                  *input.Waits
	soft, hard             context.Context
	cancelSoft, cancelHard func()
	gentle, silent         atomic.Bool
	late                   <-chan time.Time // set when hard has ended
}

func (l *signalLoop) handleSignal(got os.Signal) {
	switch {
	case l.hard.Err() != nil:
		if got != syscall.SIGHUP {
			l.endByForce()
		}
	case !l.gentle.Load():
		l.endNow()
		l.sendMessage("stopped")
	case l.soft.Err() == nil:
		l.cancelSoft()
		l.sendMessage(rollout.Stopping)
	case got == syscall.SIGHUP: // the kernel and the shell both send SIGHUP for one lost terminal
	default:
		l.endNow()
		l.sendMessage(rollout.StoppingAtOnce)
	}
}

func (l *signalLoop) endNow() {
	l.cancelHard()
	l.late = time.After(lastResort)
}

func (l *signalLoop) sendMessage(message string) {
	if !l.silent.Load() {
		l.messages.queueMessage("\nholdfast: " + message)
	}
}

// lastPatience is how long the program waits for the reader of its last message before it exits by force.
const lastPatience = time.Second

func (l *signalLoop) endByForce() {
	text := "ended before its work was done"
	if list := l.waits.List(); len(list) > 0 {
		text = "ended while " + strings.Join(list, "; ")
	}
	l.messages.queueMessage("\nholdfast: " + textutil.Printable(text))
	l.messages.flushMessages(lastPatience)
	os.Exit(int(engine.ExitStopped))
}

// outlastReader keeps the program running when the reader of stdout or stderr
// goes away: writes then return an error, and no SIGPIPE ends the program.
// Commands call it if they must not end in the middle of their work. SIGPIPE
// still ends the programs that holdfast starts.
func outlastReader() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // signal.Ignore would also affect the programs that holdfast starts
}
