package summary_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
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
		short   string
	}{
		"of many lines":      {engine.Failure{Step: "finalize", Cause: longCause(), Stderr: "error: no\nspace left"}, "finalize: the first line says it …\n"},
		"of one long line":   {engine.Failure{Step: "wait for units", Cause: strings.Repeat("one.service has failed; ", 40)}, strings.TrimSuffix(strings.Repeat("one.service has failed; ", 8), "; ") + " …\n"},
		"a status alone":     {engine.Failure{Step: "stage", Cause: "exit status 5", Stderr: "the end of the log:\nerror: HTTP 404\nexit status 5", Hint: "look at the server"}, "stage: exit status 5: error: HTTP 404\n      hint: look at the server\n"},
		"short, with a hint": {engine.Failure{Step: "drain", Cause: "no answer", Hint: "ask it"}, "worker-01 failed at drain: no answer\n      hint: ask it\n"},
	} {
		p := reporttest.ExamplePlan()
		f := c.failure
		f.Host = "worker-01"
		var s reporttest.Script
		s.StartRun()
		s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
		s.FailStep(&f, reporttest.Began, time.Minute)
		s.AddEvent(event.Event{Type: event.HostFailed, Host: f.Host, Failure: &f, Message: "it stays held"})
		s.EndByFailure(f)
		for _, terse := range []bool{false, true} {
			all, end := printRun(t, s.Events, terse)
			before := strings.TrimSuffix(all, end)
			for line := range strings.Lines(f.Cause + "\n" + f.Stderr) {
				if !strings.Contains(before, strings.TrimSpace(line)) {
					t.Errorf("%s: %q is missing where it happened:\n%s", name, line, before)
				}
			}
			if strings.Count(end, c.short) != 1 || strings.Count(end, f.Step+": ") != 1 || !strings.HasSuffix(end, "exit 3: 1 host failed; next: holdfast apply\n") {
				t.Errorf("%s: %d bytes without %q:\n%s", name, len(end), c.short, end)
			}
		}
	}
}

// TestFindingsOnce checks that the end of a run has each finding once: failures
// within the failure budget, holds, refusals, exclusions, and a saved plan that
// no longer fits.
func TestFindingsOnce(t *testing.T) {
	failed := engine.Failure{Host: "worker-01", Step: "verify", Cause: "exit status 7"}
	held := engine.Failure{Host: "worker-05", Step: "hold", Cause: "held by ann", Kind: engine.HeldFailure}
	unclear := engine.Exclusion{Host: "worker-02", Kind: engine.Unclear, Reason: "two deployments are booted"}
	again := engine.Exclusion{Host: failed.Host, Kind: engine.Failed, Reason: failed.Step + ": " + failed.Cause}
	for name, c := range map[string]struct {
		found engine.Findings
		end   event.RunEnd
		lines []string
	}{
		"everything else matches": {engine.Findings{Failures: []engine.Failure{failed}}, event.RunEnd{}, []string{"  worker-01 failed at verify: exit status 7\n", "exit 3: 1 host failed; next"}},
		"another host is held":    {engine.Findings{Failures: []engine.Failure{held, failed}, Excluded: []engine.Exclusion{unclear, again}}, event.RunEnd{}, []string{"worker-01 failed at verify: exit status 7\n", "worker-05: hold: held by ann\n", "unclear: worker-02: two deployments are booted\n", "exit 3: 1 host failed, 1 not understood; next"}},
		"a spent budget":          {engine.Findings{Failures: []engine.Failure{failed}}, event.RunEnd{SpentBudget: &event.SpentBudget{Failed: 2, Pool: "w"}}, []string{"exit status 7\n", "2 hosts have failed, more than the failure budget of pool w allows; --best-effort continues with the others\n"}},
		"a play without a budget": {engine.Findings{Failures: []engine.Failure{failed}}, event.RunEnd{SpentBudget: &event.SpentBudget{Failed: 2, Play: "w", AnyErrorsFatal: true}}, []string{"exit status 7\n", "2 hosts have failed, and play w allows none (any_errors_fatal)\n"}},
		"the journal":             {engine.Findings{Failures: []engine.Failure{{Cause: "write journal: disk full", Kind: engine.JournalFailure}, failed}}, event.RunEnd{}, []string{"write journal: disk full\n", "exit 3: the journal cannot be written; 1 host failed; next"}},
		"refusals":                {engine.Findings{Refusals: []string{"a", "b", "c", "d", "e", "f", "g"}, Failures: []engine.Failure{failed}}, event.RunEnd{}, []string{"not safe: a\n", "not safe: e\n", "not safe: 2 more; holdfast plan shows them\n", "exit 3: not safe to go on; 1 host failed; next"}},
		"a saved plan":            {engine.Findings{Failures: []engine.Failure{{Step: "compare with p.plan", Cause: "the hosts have moved on:\n  w-1: a\n  w-2: b", Kind: engine.RefusedFailure}, failed}}, event.RunEnd{}, []string{"  compare with p.plan: the hosts have moved on:\n    w-1: a\n    w-2: b\n", "exit 3: refused; 1 host failed; next"}},
	} {
		p := reporttest.ExamplePlan()
		var s reporttest.Script
		s.StartRun()
		s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
		s.FailHost(failed.Host, failed.Step, failed.Cause, "it stays held")
		c.end.Failed = []string{failed.Host}
		s.EndRun(c.found, c.end)
		_, end := printRun(t, s.Events, false)
		for _, line := range append(c.lines, failed.Cause) {
			if n := strings.Count(end, line); n != 1 {
				t.Errorf("%s: %q is there %d times:\n%s", name, line, n, end)
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
	s.StartRun()
	s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
	s.FailStep(f, reporttest.Began, time.Minute)
	s.EndByFailure(*f)
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
	if all, end := printRun(t, s.Events, false); strings.Contains(strings.TrimSuffix(all, end), "gate ceph failed") {
		t.Errorf("what was stopped has not failed:\n%s", all)
	}
}
