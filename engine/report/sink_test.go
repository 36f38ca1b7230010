package report_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/textutil"
)

// sinkFunc is a function that is a sink.
type sinkFunc func(event.Event) error

func (f sinkFunc) Emit(e event.Event) error { return f(e) }

// TestRedact checks that no field of any event contains a sensitive value, and
// that nothing else changes.
func TestRedact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9"\\/<>&é]{6,20}`).Draw(t, "secret") + "#hunter2"
		for _, e := range reporttest.ExampleRun() {
			e.Message += " " + secret
			if e.Failure != nil {
				f := *e.Failure
				f.Stderr, f.Command, f.Cause, f.Hint = secret, "login "+secret, secret+secret, secret
				e.Failure = &f
			}
			if e.Plan != nil {
				p := *e.Plan
				p.Before = []engine.Step{{Name: "gate", Do: engine.Op{Command: &engine.Local{Command: "curl " + secret}}}}
				e.Plan = &p
			}
			passed := 0
			check := sinkFunc(func(clean event.Event) error {
				passed++
				text, err := json.Marshal(clean)
				quoted, _ := json.Marshal(secret)
				if err != nil || strings.Contains(string(text), strings.Trim(string(quoted), `"`)) {
					t.Fatalf("%s shows %q", text, secret)
				}
				if clean.Seq != e.Seq || !clean.Time.Equal(e.Time) || clean.Type != e.Type || clean.Host != e.Host || clean.Took != e.Took {
					t.Fatalf("%+v became %+v", e, clean)
				}
				return nil
			})
			r := &report.RunSink{Secrets: textutil.NewSecrets([]string{secret}), Journal: check, View: check}
			if err := r.Emit(e); err != nil || passed != 2 {
				t.Fatal(err, passed)
			}
		}
	})
}

// TestRunSink checks that the first error of the journal ends the journal and
// not the view, and that a step without an entry in the journal does not begin.
func TestRunSink(t *testing.T) {
	broken := errors.New("broken")
	var written, seen int
	view := sinkFunc(func(event.Event) error { seen++; return broken })
	well := &report.RunSink{Journal: sinkFunc(func(event.Event) error { return nil }), View: view}
	if err := well.Emit(event.Event{}); err != nil || seen != 1 || well.End() != nil {
		t.Errorf("%v, %d, %v", err, seen, well.End())
	}
	full := &report.RunSink{Journal: sinkFunc(func(event.Event) error { written++; return broken }), View: view}
	if err := full.Emit(event.Event{Type: event.StepStarted}); !errors.Is(err, broken) || seen != 1 {
		t.Errorf("a step that is not in the journal is shown: %v, %d", err, seen)
	}
	if err := full.Emit(event.Event{Type: event.RunEnded}); !errors.Is(err, broken) || seen != 2 || written != 1 || full.End() == nil {
		t.Errorf("%v; %d events seen, %d written, end %v", err, seen, written, full.End())
	}
}
