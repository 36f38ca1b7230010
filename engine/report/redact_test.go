package report_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hostscript"
	"holdfast/engine/report"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/textutil"
)

func redactEvent(t *testing.T, e event.Event, secrets ...string) event.Event {
	t.Helper()
	var got event.Event
	sink := sinkFunc(func(clean event.Event) error { got = clean; return nil })
	silent := sinkFunc(func(event.Event) error { return nil })
	if err := (&report.RunSink{Secrets: textutil.NewSecrets(secrets), Journal: sink, View: silent}).Emit(e); err != nil {
		t.Fatalf("with %q: %v", secrets, err)
	}
	return got
}

// TestRedactKeepsTheRunGoing checks that every redacted event can be read, even
// if a sensitive value is very short or common. An unreadable event would end
// the journal, and with it the run.
func TestRedactKeepsTheRunGoing(t *testing.T) {
	for _, secret := range []string{"", "0", "s", "m", "2026", "T", "stage", "step-ended", "true", "null", `"`, `\`} {
		e := event.Event{Schema: 1, Seq: 10, Time: reporttest.Began, Run: "r", Type: event.StepEnded, Took: engine.Duration(90 * time.Minute), Message: "m", Etcd: &event.Sample{Voters: 10}}
		got := redactEvent(t, e, secret)
		if got.Type != e.Type || got.Took != e.Took || !got.Time.Equal(e.Time) || got.Seq != 10 || got.Etcd.Voters != 10 {
			t.Errorf("with %q: %+v", secret, got)
		}
		if secret == "" && got.Message != "m" {
			t.Errorf("nothing was hidden, and yet it reads %q", got.Message)
		}
	}
}

// TestRedactOtherSpellings checks that a value is also hidden in the quoting of
// sh and Go, and line by line, as the output of a command arrives.
func TestRedactOtherSpellings(t *testing.T) {
	for secret, said := range map[string][]string{
		"it's-hunter2":      {"login " + hostscript.Quote("it's-hunter2"), fmt.Sprintf("%q", "it's-hunter2")},
		`pass"word\hunter2`: {fmt.Sprintf("invalid %q", `pass"word\hunter2`), `{"password":"pass\"word\\hunter2"}`},
		"hunter2hunter2\n":  {"token hunter2hunter2 refused"},
		"-----BEGIN-----\nhunter2hunter2\nhunter2rabbits\n": {"hunter2hunter2", "+ hunter2rabbits"},
	} {
		for _, s := range said {
			if got := redactEvent(t, event.Event{Message: s}, secret); strings.Contains(got.Message, "hunter2") {
				t.Errorf("%q is shown as %q", secret, got.Message)
			}
		}
	}
}

// TestRedactChangesNothing checks that redaction copies its input, because
// other code uses the input.
func TestRedactChangesNothing(t *testing.T) {
	p := reporttest.ExamplePlan()
	before, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	clean := report.HideSensitive(p, []string{"ann@bastion", "10.0.1.3"})
	after, _ := json.Marshal(p)
	text, _ := json.Marshal(clean)
	if string(before) != string(after) {
		t.Error("the plan itself was changed")
	}
	if strings.Contains(string(text), "ann@bastion") || !strings.Contains(string(text), "(sensitive)") {
		t.Errorf("shown: %s", text)
	}
}

// TestRedactEverywhere checks that redaction removes a value from every text of
// an event, and from all levels of a plan.
func TestRedactEverywhere(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		secret := rapid.StringN(1, 40, 80).Draw(r, "secret") + "#hunter2"
		around := rapid.StringOfN(rapid.RuneFrom([]rune("ab/ é\n\"'")), 0, 5, -1)
		text := around.Draw(r, "before") + secret + around.Draw(r, "after")
		e := reporttest.FilledValue[event.Event](text)
		clean := report.HideSensitive(*e.Plan, []string{secret})
		for _, v := range []any{redactEvent(t, e, secret), clean} {
			shown, err := json.Marshal(v)
			if err != nil || strings.Contains(string(shown), "hunter2") || !strings.Contains(string(shown), "(sensitive)") {
				r.Fatalf("%q is shown: %s %v", secret, shown, err)
			}
		}
	})
}

// TestRedactLeavesData checks that redaction neither reads nor copies files for
// hosts. These files are in no output, and a plan may have gigabytes of them.
func TestRedactLeavesData(t *testing.T) {
	p := engine.Plan{Hosts: []engine.HostPlan{reporttest.HostWithChanges("w-1", reporttest.ReloadCrio, reporttest.UserChange("core"))}}
	clean := report.HideSensitive(p, []string{"hunter2", "u"})
	was, is := p.Hosts[0].Sequence[0].Do.Exec.Uploads[0].Data, clean.Hosts[0].Sequence[0].Do.Exec.Uploads[0].Data
	if len(is) == 0 || &was[0] != &is[0] {
		t.Error("the data of an upload were copied")
	}
}
