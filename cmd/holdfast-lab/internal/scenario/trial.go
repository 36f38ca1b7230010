package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// trial is one run of a scenario. It implements testscript.T outside of go test.
type trial struct {
	script
	log     strings.Builder
	notes   []string // printed with every outcome, even without the log
	failed  bool
	skipped string        // why
	hosts   time.Duration // until its hosts were up
	took    time.Duration
}

var errLeave = errors.New("leave the scenario")

// runRecovered calls f. Skip and FailNow end f early, by a panic.
func (t *trial) runRecovered(f func()) {
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

func (t *trial) verdictWord() string {
	switch {
	case t.failed:
		return "FAILED"
	case t.skipped != "":
		return "skipped"
	}
	return "ok"
}

// formatOutcome returns the outcome with the notes, and with the log if the scenario failed or verbose is set.
func (t *trial) formatOutcome(verbose bool) string {
	text := strings.TrimRight(fmt.Sprintf("%-34s %-8s %5.1f s  %s", t.name, t.verdictWord(), t.took.Seconds(), t.skipped), " ") + "\n"
	for _, note := range t.notes {
		text += indentLines(note) + "\n"
	}
	if t.failed || verbose {
		text += indentLines(t.log.String()) + "\n"
	}
	return text
}

func indentLines(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// addNote adds a text that is printed with the outcome.
func (t *trial) addNote(text string) { t.notes = append(t.notes, text) }

// Run runs the scenario.
func (t *trial) Run(_ string, f func(testscript.T)) { t.runRecovered(func() { f(t) }) }

// Skip ends the scenario as skipped.
func (t *trial) Skip(args ...any) {
	t.Log(args...)
	t.skipped = cmp.Or(strings.TrimSpace(fmt.Sprint(args...)), "no reason")
	panic(errLeave)
}

// Fatal ends the scenario as failed.
func (t *trial) Fatal(args ...any) {
	t.Log(args...)
	t.FailNow()
}

// FailNow ends the scenario as failed.
func (t *trial) FailNow() {
	t.failed = true
	panic(errLeave)
}

// Log adds a line to the log of the scenario.
func (t *trial) Log(args ...any) { fmt.Fprintln(&t.log, args...) }

// Parallel does nothing: the Runner decides which scenarios run side by side.
func (t *trial) Parallel() {}

// Verbose makes testscript keep the log of sections that succeeded.
func (t *trial) Verbose() bool { return true }
