package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"holdfast/engine/event"
	"holdfast/engine/report"
)

// messages writes messages to standard error, one after another. A standard error that takes nothing more, such as a stopped terminal or
// a pipe that nobody reads, keeps neither a signal nor the work on hosts waiting.
type messages struct{ queue *report.Queue }

func newMessages(stderr *os.File) messages { return messages{report.NewQueue(messageView{stderr})} }

// messageView writes the message of each event.
type messageView struct{ stderr *os.File }

// Emit implements report.Sink.
func (v messageView) Emit(e event.Event) error {
	_, err := fmt.Fprintln(v.stderr, e.Message)
	return err
}

// queueMessage returns at once.
func (m messages) queueMessage(text string) { _ = m.queue.Emit(event.Event{Message: text}) } // a queue has no errors

// printMessage returns when the message is written, after endPatience, or at once if earlier messages wait already.
func (m messages) printMessage(text string) {
	stuck := !m.flushMessages(0)
	if m.queueMessage(text); !stuck {
		m.flushMessages(endPatience)
	}
}

// flushMessages waits until all messages are written, and reports whether they are.
func (m messages) flushMessages(patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return m.queue.Flush(ctx)
}
