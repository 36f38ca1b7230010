package summary_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/reporttest"
)

// TestEndings checks the last page of a run, for every kind of end.
func TestEndings(t *testing.T) {
	large := reporttest.LargePlan()
	small := reporttest.ExamplePlan()
	for name, tell := range map[string]func(s *reporttest.Script){
		"end-many": func(s *reporttest.Script) {
			s.StartRun("apply", "--yes")
			s.AddEvent(event.Event{Type: event.Planned, Plan: &large})
			for i := range 480 {
				s.RollHost(i)
			}
			s.At = reporttest.Began.Add(7 * time.Hour)
			s.EndByFailure(engine.Failure{Host: "worker-007", Step: "wait for boot", Cause: "did not come back within 20m0s"}, "")
		},
		"end-snapshot": func(s *reporttest.Script) {
			s.StartRun("apply", "--yes")
			s.AddEvent(event.Event{Type: event.Planned, Plan: &small})
			s.RunStep("etcd-1", "stage", reporttest.Began, 42*time.Second)
			f := &engine.Failure{Step: "snapshot etcd", Cause: "no space left on device", Hint: "nothing was disrupted; snapshot = false in the etcd_cluster block skips the snapshot"}
			s.AddEvent(event.Event{Type: event.StepEnded, Cluster: "main", Step: "snapshot etcd", Failure: f})
			s.EndByFailure(*f, "")
		},
		"end-stopped": func(s *reporttest.Script) {
			s.StartRun("apply")
			s.AddEvent(event.Event{Type: event.Planned, Plan: &small})
			s.RunStep("etcd-1", "hold", reporttest.Began, time.Second)
			s.RunStep("etcd-1", "finalize", s.At, time.Second)
			f := &engine.Failure{Host: "etcd-1", Step: "wait for boot", Cause: "context canceled", Kind: "stopped"}
			s.FailStep(f, s.At, time.Minute)
			s.AddEvent(event.Event{Type: event.HostFailed, Host: "etcd-1", Failure: f, Message: "stopped at once; its hold stays"})
			s.EndRun(engine.ExitStopped, "stopped at once by the operator; holds stay, and the next run goes on from here")
		},
		"end-declined": func(s *reporttest.Script) {
			s.StartRun("apply")
			s.AddEvent(event.Event{Type: event.Planned, Plan: &small})
			s.EndRun(engine.ExitStopped, "not approved; nothing was changed")
		},
		"end-unreachable": func(s *reporttest.Script) {
			s.StartRun("apply", "--limit", "edge*")
			left := engine.Plan{Excluded: large.Excluded[:30]}
			s.AddEvent(event.Event{Type: event.Planned, Plan: &left})
			reason := "incomplete: "
			for _, x := range left.Excluded {
				reason += fmt.Sprintf("%s is %s (%s); ", x.Host, x.Kind, x.Reason)
			}
			s.EndRun(engine.ExitUnreachable, reason)
		},
		"end-well": func(s *reporttest.Script) {
			s.StartRun("apply")
			s.AddEvent(event.Event{Type: event.Planned, Plan: &small})
			s.RunStep("worker-05", "hold", reporttest.Began, time.Second)
			s.RunStep("worker-05", "wait for units", s.At, time.Second)
			s.RunStep("worker-05", "release", s.At, time.Second)
			s.AddEvent(event.Event{Type: event.HostDone, Host: "worker-05"})
			s.AddEvent(event.Event{Type: event.EtcdSampled, Cluster: "main", Etcd: &event.Sample{Problems: []string{"no answer"}}})
			s.EndRun(engine.ExitOK, "every host matches")
		},
	} {
		var s reporttest.Script
		tell(&s)
		reporttest.CompareGolden(t, name, s.PrintEnding(t))
	}
}

// TestAdviceHasNoHiddenArguments checks that a secret argument is hidden, and
// that the advice has no placeholder that a person might type.
func TestAdviceHasNoHiddenArguments(t *testing.T) {
	for _, args := range [][]string{
		{"apply", "--var", "token=(sensitive)", "-i", "site.hcl"},
		{"apply", "--var=token=(sensitive)", "-i", "site.hcl"},
	} {
		var s reporttest.Script
		s.StartRun(args...)
		f := &engine.Failure{Host: "worker-01", Step: "stage", Cause: "no space left on device"}
		s.FailStep(f, s.At, time.Minute)
		s.AddEvent(event.Event{Type: event.HostFailed, Host: "worker-01", Failure: f})
		s.AddEvent(event.Event{Type: event.RunEnded, End: &event.RunEnd{Exit: engine.ExitFailed, Reason: "worker-01: stage: no space left on device"}})
		text := s.PrintEnding(t)
		if strings.Contains(text, "(sensitive)") || !strings.Contains(text, "holdfast apply -i site.hcl (and --var token as before)") {
			t.Errorf("%q: %s", args, text)
		}
	}
}

// TestLongReasonsEndAfterAWord checks that a reason that is too long ends after
// a whole word.
func TestLongReasonsEndAfterAWord(t *testing.T) {
	var s reporttest.Script
	s.StartRun("apply")
	words := ""
	for i := range 90 {
		words += fmt.Sprintf("worker-%02d, ", i)
	}
	s.AddEvent(event.Event{Type: event.RunEnded, End: &event.RunEnd{Exit: engine.ExitFailed, Reason: words}})
	if text := s.PrintEnding(t); !strings.Contains(text, "worker-35 … (the journal has all of it)") {
		t.Error(text)
	}
}
