package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// runT is what testscript needs of a test, for a program: scenarios run in
// turn, and the log of one is printed when it has failed.
type runT struct {
	ctx      context.Context
	out      io.Writer
	verbose  bool
	log      strings.Builder
	failed   bool
	skipped  bool
	count    int
	failures []string
}

var errLeave = errors.New("leave the scenario")

// Run runs one scenario.
func (t *runT) Run(name string, f func(testscript.T)) {
	if t.ctx.Err() != nil {
		return
	}
	fmt.Fprintf(t.out, "%-34s ", name)
	sub := &runT{ctx: t.ctx, out: t.out, verbose: t.verbose}
	began := time.Now()
	sub.runRecovered(func() { f(sub) })
	t.count++
	verdict := "ok"
	switch {
	case sub.failed:
		verdict = "FAILED"
		t.failures = append(t.failures, name)
	case sub.skipped:
		verdict = "skipped"
	}
	fmt.Fprintf(t.out, "%-8s %5.1f s\n", verdict, time.Since(began).Seconds())
	if sub.failed || t.verbose {
		fmt.Fprintln(t.out, indentLines(sub.log.String()))
	}
}

// runRecovered runs f until it ends or leaves.
func (t *runT) runRecovered(f func()) {
	defer func() {
		switch p := recover(); p {
		case nil, errLeave:
		default:
			t.failed = true
			fmt.Fprintf(&t.log, "panic: %v\n%s", p, debug.Stack())
		}
	}()
	f()
}

func indentLines(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// Skip ends the scenario without a verdict.
func (t *runT) Skip(args ...any) {
	t.Log(args...)
	t.skipped = true
	panic(errLeave)
}

// Fatal ends the scenario as failed.
func (t *runT) Fatal(args ...any) {
	t.Log(args...)
	t.FailNow()
}

// FailNow ends the scenario as failed.
func (t *runT) FailNow() {
	t.failed = true
	panic(errLeave)
}

// Log keeps text until it is known whether the scenario fails.
func (t *runT) Log(args ...any) { fmt.Fprintln(&t.log, args...) }

// Parallel does nothing: there is one lab.
func (t *runT) Parallel() {}

// Verbose makes testscript log every command.
func (t *runT) Verbose() bool { return true }
