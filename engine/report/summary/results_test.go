package summary_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/lines"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/termtext"
)

// TestHoldLost checks that a host that lost the hold of the run is not still held, and that the hold counts until the run noticed.
func TestHoldLost(t *testing.T) {
	var s reporttest.Script
	s.StartRun("--yes")
	f := &engine.Failure{Host: "worker-1", Step: "wait for units", Cause: "app.service has failed"}
	s.RunStep("worker-1", "hold", s.At, time.Second)
	s.FailStep(f, s.At, time.Minute)
	s.AddEvent(event.Event{Type: event.HostFailed, Host: "worker-1", Failure: f, Outcome: event.HoldLostOutcome, Message: "its hold is gone or somebody else's, and was left as it is"})
	s.EndByFailure(*f)
	if got := s.PrintEnding(t); strings.Contains(got, "still held") || !strings.Contains(got, "60 s") {
		t.Error(got)
	}
}

// TestEndings checks the last page of a run, for every kind of end.
func TestEndings(t *testing.T) {
	large := reporttest.LargePlan()
	small := reporttest.ExamplePlan()
	for name, tell := range map[string]func(s *reporttest.Script){
		"end-many": func(s *reporttest.Script) {
			s.StartRun("--yes")
			s.AddEvent(event.Event{Type: event.Planned, Plan: &large})
			for i := range 480 {
				s.RollHost(i)
			}
			s.At = reporttest.Began.Add(7 * time.Hour)
			s.EndRun(engine.Findings{Failures: []engine.Failure{{Host: "worker-007", Step: "wait for boot", Cause: "did not come back within 20m0s"}}, Excluded: large.Excluded},
				event.RunEnd{Failed: []string{"worker-007", "worker-167", "worker-327"}})
		},
		"end-snapshot": func(s *reporttest.Script) {
			s.StartRun("--yes")
			s.AddEvent(event.Event{Type: event.Planned, Plan: &small})
			s.RunStep("etcd-1", "stage", reporttest.Began, 42*time.Second)
			f := &engine.Failure{Step: "snapshot etcd", Cause: "no space left on device", Hint: "nothing was disrupted; snapshot = false in the etcd_cluster block skips the snapshot"}
			s.AddEvent(event.Event{Type: event.StepEnded, Cluster: "main", Step: "snapshot etcd", Failure: f})
			s.EndRun(engine.Findings{Failures: []engine.Failure{*f}, Excluded: small.Excluded}, event.RunEnd{})
		},
		"end-stopped": func(s *reporttest.Script) {
			s.StartRun()
			s.AddEvent(event.Event{Type: event.Planned, Plan: &small})
			s.RunStep("etcd-1", "hold", reporttest.Began, time.Second)
			s.RunStep("etcd-1", "finalize", s.At, time.Second)
			f := &engine.Failure{Host: "etcd-1", Step: "wait for boot", Cause: "context canceled", Kind: "stopped"}
			s.FailStep(f, s.At, time.Minute)
			s.AddEvent(event.Event{Type: event.HostFailed, Host: "etcd-1", Failure: f, Message: "stopped at once; its hold stays"})
			s.EndRun(engine.Findings{Stopped: true, Excluded: reporttest.ExamplePlan().Excluded}, event.RunEnd{})
		},
		"end-declined": func(s *reporttest.Script) {
			s.StartRun()
			s.AddEvent(event.Event{Type: event.Planned, Plan: &small})
			s.EndRun(engine.Findings{Stopped: true, Declined: true}, event.RunEnd{})
		},
		"end-unreachable": func(s *reporttest.Script) {
			s.StartRun("--limit=edge*")
			left := engine.Plan{Excluded: large.Excluded[:30]}
			s.AddEvent(event.Event{Type: event.Planned, Plan: &left})
			s.EndRun(engine.Findings{Excluded: left.Excluded}, event.RunEnd{})
		},
		"end-well": func(s *reporttest.Script) {
			s.StartRun()
			s.AddEvent(event.Event{Type: event.Planned, Plan: &small})
			s.RunStep("worker-05", "hold", reporttest.Began, time.Second)
			s.RunStep("worker-05", "wait for units", s.At, time.Second)
			s.RunStep("worker-05", "release", s.At, time.Second)
			s.AddEvent(event.Event{Type: event.HostDone, Host: "worker-05"})
			s.AddEvent(event.Event{Type: event.EtcdSampled, Cluster: "main", Etcd: &event.Sample{Problems: []string{"no answer"}}})
			s.EndRun(engine.Findings{}, event.RunEnd{})
		},
	} {
		var s reporttest.Script
		tell(&s)
		reporttest.CompareGolden(t, name, s.PrintEnding(t))
	}
}

// TestAdviceHasNoHiddenArguments checks that a secret value is hidden, and
// that the command has no placeholder that a person might type.
func TestAdviceHasNoHiddenArguments(t *testing.T) {
	var s reporttest.Script
	s.StartRun("--var=token=(sensitive)", "--inventory=site.hcl")
	f := &engine.Failure{Host: "worker-01", Step: "stage", Cause: "no space left on device"}
	s.FailStep(f, s.At, time.Minute)
	s.AddEvent(event.Event{Type: event.HostFailed, Host: "worker-01", Failure: f})
	s.EndByFailure(*f)
	text := s.PrintEnding(t)
	if strings.Contains(text, "(sensitive)") || !strings.HasSuffix(text, "; next: holdfast apply -i site.hcl\n") || !strings.Contains(text, "give these with their secret values, as before: --var token\n") {
		t.Error(text)
	}
}

// TestEndOnATerminal checks that the last lines fit a terminal of 80 columns:
// lines break between words, and the last line before its command.
func TestEndOnATerminal(t *testing.T) {
	const command = "holdfast apply -i /srv/sites/berlin/inventory.hcl --var 'commit=bc30253b4147556' -l 'worker*'"
	var s reporttest.Script
	s.StartRun("--inventory=/srv/sites/berlin/inventory.hcl", "--var=commit=bc30253b4147556", "--limit=worker*")
	f := &engine.Failure{Host: "worker-01", Step: "wait for units", Cause: "crio.service has failed; kubelet.service has failed; the host stays held", Hint: "look at the log of the first unit with journalctl -u crio.service, and at its drop-ins"}
	s.FailStep(f, s.At, time.Minute)
	s.AddEvent(event.Event{Type: event.HostFailed, Host: "worker-01", Failure: f})
	s.EndByFailure(*f)
	var b strings.Builder
	p := lines.Writer{W: &b, Style: termtext.Style{Columns: 80}}
	for _, e := range s.Events {
		if err := p.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	_, end, _ := strings.Cut(b.String(), "What to do\n")
	if !strings.HasSuffix(end, " exit 3: 1 host failed\nnext: "+command+"\n") {
		t.Error(end)
	}
	for line := range strings.Lines(strings.TrimSuffix(end, "next: "+command+"\n")) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}
