package summary_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/reporttest"
)

// TestCompleteness checks that the end of a run shows whether every host of
// every pool is updated, which hosts are not, the reason, and one next step.
func TestCompleteness(t *testing.T) {
	paused := []engine.Exclusion{}
	for _, h := range []string{"gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-4"} {
		paused = append(paused, engine.Exclusion{Host: h, Kind: engine.Paused, Reason: "the inventory pauses pool gpu"})
	}
	one := func(host string, why engine.ExclusionKind, reason string) []engine.Exclusion {
		return []engine.Exclusion{{Host: host, Kind: why, Reason: reason}}
	}
	planned := func(s *reporttest.Script, excluded []engine.Exclusion, hosts ...string) {
		p := engine.Plan{Total: 20, Excluded: excluded}
		for _, h := range hosts {
			p.Hosts = append(p.Hosts, reporttest.OSPlan(h, "worker", "", ""))
		}
		s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
	}
	closed := "pool worker: outside its maintenance window for a batch of 30m (Sat 22:00-04:00 UTC); the next may begin on Sat 2026-11-21 22:00 UTC"
	excluded := func(list []engine.Exclusion) engine.Findings { return engine.Findings{Excluded: list} }
	for name, tell := range map[string]func(s *reporttest.Script){
		"end-complete": func(s *reporttest.Script) {
			s.StartRun()
			planned(s, nil, "worker-01", "worker-02")
			s.UpdateHosts("worker-01", "worker-02")
			s.EndRun(engine.Findings{}, event.RunEnd{Updated: []string{"worker-01", "worker-02"}, Pools: reporttest.PoolStatuses(nil, engine.Updated)})
		},
		"end-incomplete": func(s *reporttest.Script) {
			s.StartRun("--yes")
			left := append(one("worker-03", engine.Held, "held by ann@bastion since 2026-11-21 07:00 UTC for \"fans\""), paused...)
			left = append(left, one("worker-04", engine.Unreachable, "connect to 10.0.1.4:22: no route to host")...)
			left = append(left, one("worker-05", engine.Unclear, "two deployments are booted")...)
			left = append(left, one("worker-06", engine.RolledBack, "it was rolled back from bc30253b4147, which failed there; give it another OS, or try again with --retry-rolled-back")...)
			planned(s, left, "worker-01", "worker-02")
			s.UpdateHosts("worker-01")
			s.At = s.RunStep("worker-02", "hold", s.At, time.Second)
			f := &engine.Failure{Host: "worker-02", Step: "wait for units", Cause: "crio.service has failed"}
			s.FailStep(f, s.At, time.Minute)
			s.AddEvent(event.Event{Type: event.HostFailed, Host: "worker-02", Failure: f, Outcome: event.RolledBackOutcome, Message: "it was rolled back to 1.0, and stays held"})
			end := event.RunEnd{}
			end.Updated, end.Failed = []string{"worker-01"}, []string{"worker-02"}
			end.Pools = reporttest.PoolStatuses(map[engine.HostState]int{engine.HeldState: 1, engine.Unreached: 1, engine.Degraded: 3}, engine.PausedState)
			s.EndRun(engine.Findings{Failures: []engine.Failure{*f}, Excluded: append(left, engine.Exclusion{Host: "worker-02", Kind: engine.Failed, Reason: f.Cause})}, end)
		},
		"end-paused": func(s *reporttest.Script) {
			s.StartRun()
			planned(s, paused, "worker-01")
			s.UpdateHosts("worker-01")
			s.EndRun(excluded(paused), event.RunEnd{Updated: []string{"worker-01"}, Pools: reporttest.PoolStatuses(nil, engine.PausedState)})
		},
		"end-closed": func(s *reporttest.Script) {
			s.StartRun("--yes")
			planned(s, one("worker-01", engine.Closed, closed))
			s.RunStep("worker-01", "stage", s.At, time.Minute)
			s.EndRun(excluded(one("worker-01", engine.Closed, closed)), event.RunEnd{Pools: reporttest.PoolStatuses(map[engine.HostState]int{engine.Staged: 1}, engine.Updated)})
		},
		"end-rolled-back": func(s *reporttest.Script) {
			s.StartRun("--yes")
			planned(s, one("worker-01", engine.RolledBack, "it was rolled back from bc30253b4147"))
			s.EndRun(excluded(one("worker-01", engine.RolledBack, "it was rolled back from bc30253b4147")), event.RunEnd{Pools: reporttest.PoolStatuses(map[engine.HostState]int{engine.Degraded: 1}, engine.Updated)})
		},
		"end-unfinished": func(s *reporttest.Script) {
			s.StartRun()
			p := engine.Plan{RecordedOn: []string{"worker-03"}, Unfinished: []engine.UnfinishedHost{{Host: "worker-01", Reason: "runs ffe304ca31ef, and not bc30253b4147 of run r1"}, {Host: "worker-02", Reason: "runs ffe304ca31ef, and not bc30253b4147 of run r1"}}}
			s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
			s.EndRun(engine.Findings{Unfinished: p.Unfinished}, event.RunEnd{Pools: reporttest.PoolStatuses(map[engine.HostState]int{engine.Pending: 12}, engine.Pending)})
		},
		"end-limit": func(s *reporttest.Script) {
			s.StartRun("--yes", "--limit=worker-01")
			planned(s, nil, "worker-01")
			s.UpdateHosts("worker-01")
			s.EndRun(engine.Findings{}, event.RunEnd{Updated: []string{"worker-01"}, Pools: reporttest.PoolStatuses(map[engine.HostState]int{engine.Pending: 11}, engine.Updated)})
		},
		"end-failed-held": func(s *reporttest.Script) {
			s.StartRun("--yes", "--limit=worker*")
			planned(s, one("worker-03", engine.Held, "held by ann@bastion"), "worker-01")
			f := &engine.Failure{Host: "worker-01", Step: "stage", Cause: "no space left on device"}
			s.FailStep(f, s.At, time.Minute)
			s.AddEvent(event.Event{Type: event.HostFailed, Host: "worker-01", Failure: f})
			s.EndRun(engine.Findings{Failures: []engine.Failure{*f}, Excluded: one("worker-03", engine.Held, "held by ann@bastion")}, event.RunEnd{Failed: []string{"worker-01"}, Pools: reporttest.PoolStatuses(map[engine.HostState]int{engine.HeldState: 1, engine.Pending: 1}, engine.Updated)})
		},
		"end-held-paused": func(s *reporttest.Script) {
			s.StartRun("--yes")
			left := append(one("worker-03", engine.Held, "held by ann@bastion"), paused...)
			planned(s, left)
			s.EndRun(excluded(left), event.RunEnd{Pools: reporttest.PoolStatuses(map[engine.HostState]int{engine.HeldState: 1}, engine.PausedState)})
		},
		"end-plays": func(s *reporttest.Script) {
			s.StartRun("restart.yaml")
			s.BeginPlay("restart", "reboot", "worker-01", "worker-02")
			s.UpdateHosts("worker-02", "worker-01")
			s.EndRun(excluded(one("worker-03", engine.Held, "held by ann@bastion")), event.RunEnd{Updated: []string{"worker-01", "worker-02"}, Pools: reporttest.PoolStatuses(map[engine.HostState]int{engine.HeldState: 1}, engine.Updated)})
		},
	} {
		var s reporttest.Script
		tell(&s)
		reporttest.CompareGolden(t, name, s.PrintEnding(t))
	}
}
