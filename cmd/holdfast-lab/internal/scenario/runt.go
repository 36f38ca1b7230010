package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// runT implements testscript.T outside of go test. Scenarios run one after the
// other. runT prints the log of a scenario that failed, and of every scenario if
// verbose is set.
type runT struct {
	ctx      context.Context
	out      io.Writer
	verbose  bool
	log      strings.Builder
	failed   bool
	skipped  string // why
	count    int
	skips    int
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
	verdict, reason := "ok", ""
	switch {
	case sub.failed:
		verdict = "FAILED"
		t.failures = append(t.failures, name)
	case sub.skipped != "":
		verdict, reason = "skipped", "  "+sub.skipped
		t.skips++
	}
	fmt.Fprintf(t.out, "%-8s %5.1f s%s\n", verdict, time.Since(began).Seconds(), reason)
	if sub.failed || t.verbose {
		fmt.Fprintln(t.out, indentLines(sub.log.String()))
	}
}

func (t *runT) countOutcomes() string {
	text := fmt.Sprintf("%d scenarios, %d failed", t.count, len(t.failures))
	if t.skips > 0 {
		text += fmt.Sprintf(", %d skipped", t.skips)
	}
	return text
}

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

// Skip ends the scenario as skipped.
func (t *runT) Skip(args ...any) {
	t.Log(args...)
	t.skipped = cmp.Or(strings.TrimSpace(fmt.Sprint(args...)), "no reason")
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

// Log adds a line to the log of the scenario.
func (t *runT) Log(args ...any) { fmt.Fprintln(&t.log, args...) }

// Parallel does nothing, because there is only one lab.
func (t *runT) Parallel() {}

// Verbose makes testscript keep the log of sections that succeeded.
func (t *runT) Verbose() bool { return true }
