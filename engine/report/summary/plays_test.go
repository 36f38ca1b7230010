package summary_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/reporttest"
)

// TestPlaysEnd checks that the summary of a playbook has the work of all plays
// for each host, and the work that the last play did not begin.
func TestPlaysEnd(t *testing.T) {
	for name, tell := range map[string]func(s *reporttest.Script){
		"end-second-play": func(s *reporttest.Script) {
			s.StartRun("night.yaml")
			s.BeginPlay("upgrade", "", "worker-01", "worker-02")
			s.RebootHost("worker-01", time.Minute)
			s.RebootHost("worker-02", time.Minute)
			s.BeginPlay("journald", "restart systemd-journald.service", "worker-01", "worker-02")
			s.FailHost("worker-01", "service systemd-journald.service", "exit status 1", "it stays held, with the reason in its hold")
			failed := engine.Failure{Host: "worker-01", Step: "service systemd-journald.service", Cause: "exit status 1"}
			s.EndRun(engine.Findings{Failures: []engine.Failure{failed}}, event.RunEnd{Failed: []string{"worker-01"}, Untouched: []string{"worker-02"}, NotBegun: []string{"reboot", "tidy up"}})
		},
		"end-two-reboots": func(s *reporttest.Script) {
			s.StartRun("twice.yaml")
			s.BeginPlay("one", "reboot", "worker-01")
			s.RebootHost("worker-01", 20*time.Second)
			s.At = s.At.Add(time.Hour)
			s.BeginPlay("two", "reboot", "worker-01")
			s.RebootHost("worker-01", 30*time.Second)
			s.EndRun(engine.Findings{}, event.RunEnd{})
		},
		"end-held-in-second-play": func(s *reporttest.Script) {
			s.StartRun("twice.yaml")
			s.BeginPlay("one", "reboot", "worker-01")
			s.RebootHost("worker-01", 20*time.Second)
			p := engine.Plan{Total: 3, Play: "two", Excluded: []engine.Exclusion{{Host: "worker-01", Kind: engine.Held, Reason: "held by ann@bastion"}}}
			s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
			s.EndRun(engine.Findings{Excluded: p.Excluded}, event.RunEnd{})
		},
		"end-went-back-earlier": func(s *reporttest.Script) {
			s.StartRun("--yes")
			s.BeginPlay("", "", "worker-01", "worker-02")
			s.RunStep("worker-01", "release", s.At, time.Second)
			f := &engine.Failure{Host: "worker-01", Step: "adopt", Cause: "run 20261120-220000-aa11c35e7f90d284 has rolled it back to the OS it ran before"}
			s.AddEvent(event.Event{Type: event.HostFailed, Host: "worker-01", Failure: f, Outcome: event.RolledBackEarlierOutcome, Message: "it is not held; it remembers which OS failed"})
			s.UpdateHosts("worker-02")
			left := engine.Exclusion{Host: "worker-01", Kind: engine.RolledBack, Reason: "it was rolled back from bc30253b4147, which failed there; give it another OS, or try again with --retry-rolled-back"}
			s.EndRun(engine.Findings{Excluded: []engine.Exclusion{left}}, event.RunEnd{Updated: []string{"worker-02"}})
		},
		"end-went-back": func(s *reporttest.Script) {
			s.StartRun()
			s.BeginPlay("", "", "worker-01")
			at := s.RunStep("worker-01", "hold", s.At, time.Second)
			at = s.RunStep("worker-01", "finalize", at, time.Second)
			at = s.RunStep("worker-01", "wait for boot", at, 20*time.Second)
			f := &engine.Failure{Host: "worker-01", Step: "wait for units", Cause: "crio.service has failed"}
			at = s.FailStep(f, at, time.Hour)
			at = s.RunStep("worker-01", "roll back", at, time.Second)
			at = s.RunStep("worker-01", "wait for the previous OS", at, 30*time.Second)
			s.RunStep("worker-01", "release", at, time.Second)
			s.AddEvent(event.Event{Type: event.HostFailed, Host: "worker-01", Failure: f, Outcome: event.RolledBackOutcome, Message: "it was rolled back to the OS it ran before, and is not held; it remembers that this OS failed"})
			s.EndByFailure(*f)
		},
	} {
		var s reporttest.Script
		tell(&s)
		reporttest.CompareGolden(t, name, s.PrintEnding(t))
	}
}
