package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/report/lines"
)

// script makes the events of a run, with their times.
type script struct {
	at     time.Time
	events []engine.Event
}

func (s *script) addEvent(e engine.Event) {
	e.Schema, e.Seq, e.Run, e.Time = 1, len(s.events)+1, "20261121-080000-0001", s.at
	s.events = append(s.events, e)
}

func (s *script) startRun(args ...string) {
	s.at = began
	s.addEvent(engine.Event{Type: engine.RunStarted, Start: &engine.RunStart{Site: "berlin", Holder: "ann@bastion", Args: args}})
}

// runStep adds a step of that duration, and returns its end.
func (s *script) runStep(host, name string, at time.Time, took time.Duration, f *engine.Failure) time.Time {
	s.at = at
	s.addEvent(engine.Event{Type: engine.StepStarted, Host: host, Step: name, Kind: kindOf[name]})
	s.at = at.Add(took)
	s.addEvent(engine.Event{Type: engine.StepEnded, Host: host, Step: name, Kind: kindOf[name], Took: engine.Duration(took), Failure: f})
	return s.at
}

func (s *script) endRun(exit engine.ExitCode, reason string) {
	s.addEvent(engine.Event{Type: engine.RunEnded, End: &engine.RunEnd{Exit: exit, Reason: reason}})
}

// endByFailure ends the run by a failure, with more words after its own.
func (s *script) endByFailure(f engine.Failure, more string) {
	cause := engine.EndCause{Kind: engine.FailedEnd, Failure: &f}
	s.addEvent(engine.Event{Type: engine.RunEnded, End: &engine.RunEnd{Exit: engine.ExitFailed, Reason: f.Error() + more, Cause: cause}})
}

// printEnding returns the lines that the end of the run prints.
func (s *script) printEnding(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	p := lines.Writer{W: &b, Short: true, Terse: true}
	for _, e := range s.events {
		if e.Type == engine.RunEnded {
			b.Reset()
		}
		if err := p.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// rollHost stages and reboots a worker.
func (s *script) rollHost(i int) {
	host := fmt.Sprintf("worker-%03d", i)
	s.runStep(host, "stage", began, time.Duration(30+i%7)*time.Second, nil)
	at := began.Add(time.Minute + time.Duration(i/20)*15*time.Minute)
	at = s.runStep(host, "hold", at, 300*time.Millisecond, nil)
	at = s.runStep(host, "finalize", at, 2*time.Second, nil)
	if i%160 == 7 {
		at = s.runStep(host, "wait for boot", at, 20*time.Minute, &engine.Failure{Host: host, Step: "wait for boot", Cause: "did not come back within 20m0s"})
		s.at = at
		s.addEvent(engine.Event{Type: engine.HostFailed, Host: host, Message: "it stays held, with the reason in its hold; the next run takes it up first", Failure: &engine.Failure{Host: host, Step: "wait for boot", Cause: "did not come back within 20m0s", Hint: "look at its console"}})
		return
	}
	at = s.runStep(host, "wait for boot", at, time.Duration(600+i%11)*time.Second, nil)
	s.runStep(host, "release", at, 200*time.Millisecond, nil)
	s.addEvent(engine.Event{Type: engine.HostDone, Host: host})
}

// TestEndings: the last page of a run, for every way to end.
func TestEndings(t *testing.T) {
	large := largePlan()
	small := examplePlan()
	for name, tell := range map[string]func(s *script){
		"end-many": func(s *script) {
			s.startRun("apply", "--yes")
			s.addEvent(engine.Event{Type: engine.Planned, Plan: &large})
			for i := range 480 {
				s.rollHost(i)
			}
			s.at = began.Add(7 * time.Hour)
			s.endByFailure(engine.Failure{Host: "worker-007", Step: "wait for boot", Cause: "did not come back within 20m0s"}, "")
		},
		"end-snapshot": func(s *script) {
			s.startRun("apply", "--yes")
			s.addEvent(engine.Event{Type: engine.Planned, Plan: &small})
			s.runStep("etcd-1", "stage", began, 42*time.Second, nil)
			f := &engine.Failure{Step: "snapshot etcd", Cause: "no space left on device", Hint: "nothing was disrupted; snapshot = false in the etcd_cluster block skips the snapshot"}
			s.addEvent(engine.Event{Type: engine.StepEnded, Cluster: "main", Step: "snapshot etcd", Failure: f})
			s.endByFailure(*f, "")
		},
		"end-stopped": func(s *script) {
			s.startRun("apply")
			s.addEvent(engine.Event{Type: engine.Planned, Plan: &small})
			s.runStep("etcd-1", "hold", began, time.Second, nil)
			s.runStep("etcd-1", "finalize", s.at, time.Second, nil)
			f := &engine.Failure{Host: "etcd-1", Step: "wait for boot", Cause: "context canceled", Kind: "stopped"}
			s.runStep("etcd-1", "wait for boot", s.at, time.Minute, f)
			s.addEvent(engine.Event{Type: engine.HostFailed, Host: "etcd-1", Failure: f, Message: "stopped at once; its hold stays"})
			s.endRun(engine.ExitStopped, "stopped at once by the operator; holds stay, and the next run goes on from here")
		},
		"end-declined": func(s *script) {
			s.startRun("apply")
			s.addEvent(engine.Event{Type: engine.Planned, Plan: &small})
			s.endRun(engine.ExitStopped, "not approved; nothing was changed")
		},
		"end-unreachable": func(s *script) {
			s.startRun("apply", "--limit", "edge*")
			left := engine.Plan{Excluded: large.Excluded[:30]}
			s.addEvent(engine.Event{Type: engine.Planned, Plan: &left})
			reason := "incomplete: "
			for _, x := range left.Excluded {
				reason += fmt.Sprintf("%s is %s (%s); ", x.Host, x.Kind, x.Reason)
			}
			s.endRun(engine.ExitUnreachable, reason)
		},
		"end-well": func(s *script) {
			s.startRun("apply")
			s.addEvent(engine.Event{Type: engine.Planned, Plan: &small})
			s.runStep("worker-05", "hold", began, time.Second, nil)
			s.runStep("worker-05", "wait for units", s.at, time.Second, nil)
			s.runStep("worker-05", "release", s.at, time.Second, nil)
			s.addEvent(engine.Event{Type: engine.HostDone, Host: "worker-05"})
			s.addEvent(engine.Event{Type: engine.EtcdSampled, Cluster: "main", Etcd: &engine.Sample{Problems: []string{"no answer"}}})
			s.endRun(engine.ExitOK, "every host matches")
		},
	} {
		var s script
		tell(&s)
		compareGolden(t, name, s.printEnding(t))
	}
}

// TestAdviceHasNoHiddenArguments: a secret argument is hidden, and the advice has no placeholder that
// somebody might type.
func TestAdviceHasNoHiddenArguments(t *testing.T) {
	for _, args := range [][]string{
		{"apply", "--var", "token=(sensitive)", "-i", "site.hcl"},
		{"apply", "--var=token=(sensitive)", "-i", "site.hcl"},
	} {
		var s script
		s.startRun(args...)
		f := &engine.Failure{Host: "worker-01", Step: "stage", Cause: "no space left on device"}
		s.runStep("worker-01", "stage", s.at, time.Minute, f)
		s.addEvent(engine.Event{Type: engine.HostFailed, Host: "worker-01", Failure: f})
		s.addEvent(engine.Event{Type: engine.RunEnded, End: &engine.RunEnd{Exit: engine.ExitFailed, Reason: "worker-01: stage: no space left on device"}})
		text := s.printEnding(t)
		if strings.Contains(text, "(sensitive)") || !strings.Contains(text, "holdfast apply -i site.hcl (and --var token as before)") {
			t.Errorf("%q: %s", args, text)
		}
	}
}

// TestLongReasonsEndAfterAWord: a reason that is too long ends after a whole word.
func TestLongReasonsEndAfterAWord(t *testing.T) {
	var s script
	s.startRun("apply")
	words := ""
	for i := range 90 {
		words += fmt.Sprintf("worker-%02d, ", i)
	}
	s.addEvent(engine.Event{Type: engine.RunEnded, End: &engine.RunEnd{Exit: engine.ExitFailed, Reason: words}})
	if text := s.printEnding(t); !strings.Contains(text, "worker-35 … (the journal has all of it)") {
		t.Error(text)
	}
}
