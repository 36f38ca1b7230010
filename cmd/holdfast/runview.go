package main

import (
	"context"
	"os"
	"time"

	"holdfast/engine/report"
	"holdfast/engine/report/lines"
	"holdfast/engine/report/live"
)

// readerPatience is how long a run waits for the reader of its output before it runs on_end and gives up the lock of the site.
const readerPatience = time.Minute

// runOutput is the output of a run.
type runOutput struct {
	*report.Queue
	live *live.View // nil: the output is lines, or JSON
}

func (a applyRun) newRunOutput() runOutput {
	style := a.outputStyle()
	switch {
	case a.json:
		return runOutput{a.queueEvents(report.JSONLines{W: a.stdout}), nil}
	case !isLiveTerminal(a.stdout) || a.verbose || a.flags.step || os.Getenv("CI") != "":
		return runOutput{a.queueEvents(&lines.Writer{W: a.stdout, Style: style, Plan: a.flags.yes, Full: a.verbose}), nil}
	}
	view := live.New(a.stdout, style, a.flags.yes)
	return runOutput{a.queueEvents(view), view}
}

// queueEvents returns the queue of the events that the command shows on a view.
func (c *console) queueEvents(view report.Sink) *report.Queue {
	c.output = report.NewQueue(view)
	return c.output
}

// closeView shows the rest of the events, and removes the live status.
func (o runOutput) closeView(ctx context.Context) {
	if flushInTime(ctx, o.Queue) && o.live != nil {
		o.live.Close()
	}
}

// endPatience is how long every command waits for the reader of its last lines, even if it must end at once.
const endPatience = 2 * time.Second

func flushBriefly(ctx context.Context, q *report.Queue) bool {
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	return q.Flush(soon)
}

// flushInTime waits for the reader of the output, at most for readerPatience, and for endPatience if ctx has ended.
func flushInTime(ctx context.Context, q *report.Queue) bool {
	if flushBriefly(ctx, q) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, readerPatience)
	defer cancel()
	return q.Flush(ctx)
}

// waitForReader waits for the reader of the rest of the output. It is called when a command has nothing
// else left to do, and has no lock.
func (c *console) waitForReader() {
	if c.output == nil || flushBriefly(c.hard, c.output) || c.hard.Err() != nil {
		return
	}
	c.printNotice("the command has ended, and nobody reads its output; waiting for a reader (Ctrl-C twice ends this)")
	c.output.Flush(c.hard)
}
