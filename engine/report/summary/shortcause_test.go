package summary_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report"
	"holdfast/engine/report/lines"
	"holdfast/engine/report/reporttest"
)

// longCause returns a cause of many long lines, such as a policy engine prints.
func longCause() string {
	return "the first line says it" + strings.Repeat("\nand another line that nobody reads twice", 40)
}

// printRun returns the lines of a run, and separately the lines from its
// summary on.
func printRun(t *testing.T, events []event.Event, terse bool) (all, end string) {
	t.Helper()
	var b bytes.Buffer
	p := lines.Writer{W: &b, Short: true, Terse: terse}
	for _, e := range events {
		if e.Type == event.RunEnded {
			all = b.String()
		}
		if err := p.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.String(), strings.TrimPrefix(b.String(), all)
}

// TestCauseOnce checks that a long cause is complete at its failure, and that
// the end of the run has it once, shortened, with host and step.
func TestCauseOnce(t *testing.T) {
	for name, c := range map[string]struct {
		failure engine.Failure
		reason  string // after "HOST: STEP: CAUSE"
		short   string
	}{
		"of many lines":       {engine.Failure{Step: "finalize", Cause: longCause(), Stderr: "error: no\nspace left"}, "", "finalize: the first line says it …"},
		"of one long line":    {engine.Failure{Step: "wait for units", Cause: strings.Repeat("one.service has failed; ", 40)}, "; 3 hosts have failed", strings.Repeat("one.service has failed; ", 8)},
		"a status alone":      {engine.Failure{Step: "stage", Cause: "exit status 5", Stderr: "the end of the log:\nerror: HTTP 404\nexit status 5", Hint: "look at the server"}, "", "stage: exit status 5: error: HTTP 404\n      hint: look at the server\n"},
		"short, with a hint":  {engine.Failure{Step: "drain", Cause: "no answer", Hint: "ask it"}, "", "worker-01 failed at drain\n      hint: ask it\n"},
		"short, and it is it": {engine.Failure{Step: "drain", Cause: "no answer"}, "", "exit 3: worker-01: drain: no answer\n"},
	} {
		p := reporttest.ExamplePlan()
		f := c.failure
		f.Host = "worker-01"
		var s reporttest.Script
		s.StartRun("apply")
		s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
		s.FailStep(&f, reporttest.Began, time.Minute)
		s.AddEvent(event.Event{Type: event.HostFailed, Host: f.Host, Failure: &f, Message: "it stays held"})
		s.EndByFailure(f, c.reason)
		for _, terse := range []bool{false, true} {
			all, end := printRun(t, s.Events, terse)
			before := strings.TrimSuffix(all, end)
			for line := range strings.Lines(f.Cause + "\n" + f.Stderr) {
				if !strings.Contains(before, strings.TrimSpace(line)) {
					t.Errorf("%s: %q is missing where it happened:\n%s", name, line, before)
				}
			}
			if !strings.Contains(end, c.short) || !strings.Contains(end, c.reason) || len(end) > 900 {
				t.Errorf("%s: %d bytes without %q:\n%s", name, len(end), c.short, end)
			}
			first, _, _ := strings.Cut(f.Cause, ";")
			first, _, _ = strings.Cut(first, "\n")
			if n := strings.Count(end, f.Step+": "+first); n > 2 || n > 1 && f.Stderr == "" {
				t.Errorf("%s: %d times at the end:\n%s", name, n, end)
			}
		}
	}
}

// TestAlsoFailedOnce checks that the end of a run does not repeat the causes
// that its reason has, such as those of a host that failed within the failure
// budget, and of excluded hosts.
func TestAlsoFailedOnce(t *testing.T) {
	long := make([]engine.Exclusion, 3)
	for i := range long {
		long[i] = engine.Exclusion{Host: "worker-0" + string(rune('2'+i)), Kind: engine.Unclear, Reason: strings.Repeat("disk ", 60) + string(rune('a'+i))}
	}
	failed := engine.Failure{Host: "worker-01", Step: "verify", Cause: "exit status 7"}
	also := []engine.Failure{{Host: failed.Host, Cause: failed.Cause}}
	held := engine.Failure{Host: "worker-05", Step: "hold", Cause: "held by ann", Kind: engine.HeldFailure}
	unclear := []engine.Exclusion{{Host: "worker-02", Kind: engine.Unclear, Reason: "two deployments are booted"}}
	for name, c := range map[string]event.EndCause{
		"everything else matches":  {Kind: event.MatchedEnd, AlsoFailed: also},
		"another host is held":     {Kind: event.FailedEnd, Failure: &held, AlsoFailed: also, Excluded: unclear},
		"another failure":          {Kind: event.FailedEnd, Failure: &engine.Failure{Host: "worker-05", Step: "drain", Cause: "no answer"}, AlsoFailed: also},
		"the reason is cut before": {Kind: event.FailedEnd, Failure: &held, AlsoFailed: also, Excluded: long},
	} {
		p := reporttest.ExamplePlan()
		p.Excluded = c.Excluded
		var s reporttest.Script
		s.StartRun("apply")
		s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
		s.FailHost(failed.Host, failed.Step, failed.Cause, "it stays held")
		s.AddEvent(event.Event{Type: event.RunEnded, End: &event.RunEnd{Exit: engine.ExitFailed, Reason: report.EndSentence(c), Cause: c}})
		_, end := printRun(t, s.Events, false)
		for _, cause := range []string{failed.Cause, "two deployments are booted"} {
			want := 1
			if cause != failed.Cause && !slices.Equal(c.Excluded, unclear) {
				want = 0
			}
			if n := strings.Count(end, cause); n != want {
				t.Errorf("%s: %q is there %d times, want %d:\n%s", name, cause, n, want, end)
			}
		}
	}
}

// TestCauseOfNoHost checks that a failure without a host is also shown when it
// happens.
func TestCauseOfNoHost(t *testing.T) {
	p := reporttest.ExamplePlan()
	f := &engine.Failure{Step: "gate ceph", Cause: "not done within 5m0s: exit status 1: HEALTH_WARN", Command: "ceph health", Stderr: "HEALTH_WARN\n1 osd down"}
	var s reporttest.Script
	s.StartRun("apply")
	s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
	s.FailStep(f, reporttest.Began, time.Minute)
	s.EndByFailure(*f, "")
	for _, terse := range []bool{false, true} {
		all, end := printRun(t, s.Events, terse)
		want := "  gate ceph failed: not done within 5m0s: exit status 1: HEALTH_WARN\n      command: ceph health\n      stderr: 1 osd down\n"
		if !strings.Contains(strings.TrimSuffix(all, end), want) {
			t.Errorf("%q is missing in\n%s", want, all)
		}
		if strings.Count(end, "HEALTH_WARN") != 1 || strings.Contains(end, "osd down") {
			t.Errorf("the end:\n%s", end)
		}
	}
	f.Kind = "stopped"
	if all, _ := printRun(t, s.Events, false); strings.Contains(all, "gate ceph failed") {
		t.Errorf("what was stopped has not failed:\n%s", all)
	}
}
