package report_test

import (
	"testing"
	"time"

	"holdfast/engine"
)

// poolStatuses returns the pools of a site of 20 hosts, with these hosts in other states.
func poolStatuses(worker map[engine.HostState]int, gpu engine.HostState) []engine.PoolStatus {
	updated := 12
	counts := map[engine.HostState]int{}
	for state, n := range worker {
		counts[state] = n
		updated -= n
	}
	counts[engine.Updated] = updated
	list := []engine.PoolStatus{
		{Name: "etcd", Total: 3, Counts: map[engine.HostState]int{engine.Updated: 3}, Complete: true},
		{Name: "worker", Total: 12, Counts: counts, Complete: updated == 12},
		{Name: "gpu", Total: 5, Counts: map[engine.HostState]int{gpu: 5}, Complete: gpu == engine.Updated},
	}
	return list
}

func (s *script) endIncomplete(end engine.RunEnd) {
	end.Complete = true
	for _, p := range end.Pools {
		end.Complete = end.Complete && p.Complete
	}
	s.addEvent(engine.Event{Type: engine.RunEnded, End: &end})
}

func (s *script) updateHosts(hosts ...string) {
	for _, h := range hosts {
		at := s.runStep(h, "hold", s.at, time.Second, nil)
		at = s.runStep(h, "wait for boot", at, time.Minute, nil)
		s.runStep(h, "release", at, time.Second, nil)
		s.addEvent(engine.Event{Type: engine.HostDone, Host: h})
	}
}

// TestCompleteness: the end of a run shows whether every host of every pool is updated, which hosts are not,
// the reason, and one thing to do next.
func TestCompleteness(t *testing.T) {
	paused := []engine.Exclusion{}
	for _, h := range []string{"gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-4"} {
		paused = append(paused, engine.Exclusion{Host: h, Kind: engine.Paused, Reason: "the inventory pauses pool gpu"})
	}
	one := func(host string, why engine.ExclusionKind, reason string) []engine.Exclusion {
		return []engine.Exclusion{{Host: host, Kind: why, Reason: reason}}
	}
	planned := func(s *script, excluded []engine.Exclusion, hosts ...string) {
		p := engine.Plan{Total: 20, Excluded: excluded}
		for _, h := range hosts {
			p.Hosts = append(p.Hosts, osPlan(h, "worker", "", ""))
		}
		s.addEvent(engine.Event{Type: engine.Planned, Plan: &p})
	}
	closed := "pool worker: outside its maintenance window for a batch of 30m (Sat 22:00-04:00 UTC); the next may begin on Sat 2026-11-21 22:00 UTC"
	incomplete := func(list []engine.Exclusion) engine.EndCause {
		return engine.EndCause{Kind: engine.IncompleteEnd, Excluded: list}
	}
	for name, tell := range map[string]func(s *script){
		"end-complete": func(s *script) {
			s.startRun("apply")
			planned(s, nil, "worker-01", "worker-02")
			s.updateHosts("worker-01", "worker-02")
			s.endIncomplete(engine.RunEnd{Reason: "every host matches", Updated: []string{"worker-01", "worker-02"}, Pools: poolStatuses(nil, engine.Updated)})
		},
		"end-incomplete": func(s *script) {
			s.startRun("apply", "--yes")
			left := append(one("worker-03", engine.Held, "held by ann@bastion since 2026-11-21 07:00 UTC for \"fans\""), paused...)
			left = append(left, one("worker-04", engine.Unreachable, "connect to 10.0.1.4:22: no route to host")...)
			left = append(left, one("worker-05", engine.Unclear, "two deployments are booted")...)
			left = append(left, one("worker-06", engine.RolledBack, "it was rolled back from bc30253b4147, which failed there; give it another OS, or try again with --retry-rolled-back")...)
			planned(s, left, "worker-01", "worker-02")
			s.updateHosts("worker-01")
			s.at = s.runStep("worker-02", "hold", s.at, time.Second, nil)
			f := &engine.Failure{Host: "worker-02", Step: "wait for units", Cause: "crio.service has failed"}
			s.runStep("worker-02", "wait for units", s.at, time.Minute, f)
			s.addEvent(engine.Event{Type: engine.HostFailed, Host: "worker-02", Failure: f, HostOutcome: engine.RolledBackOutcome, Message: "it was rolled back to 1.0, and stays held"})
			end := engine.RunEnd{Exit: engine.ExitFailed, Reason: "incomplete: gpu-[0-4] are paused; worker-02 is not updated, because of a failure; worker-03 is held; worker-04 is unreachable; worker-05 is unclear; worker-06 is rolled back; holdfast plan says why"}
			end.Updated, end.Failed = []string{"worker-01"}, []string{"worker-02"}
			end.Pools = poolStatuses(map[engine.HostState]int{engine.HeldState: 1, engine.Unreached: 1, engine.Degraded: 3}, engine.PausedState)
			s.endIncomplete(end)
		},
		"end-paused": func(s *script) {
			s.startRun("apply")
			planned(s, paused, "worker-01")
			s.updateHosts("worker-01")
			s.endIncomplete(engine.RunEnd{Exit: engine.ExitRefused, Reason: "incomplete: gpu-[0-4] are paused (the inventory pauses pool gpu)", Cause: incomplete(paused), Pools: poolStatuses(nil, engine.PausedState)})
		},
		"end-closed": func(s *script) {
			s.startRun("apply", "--yes")
			planned(s, one("worker-01", engine.Closed, closed))
			s.runStep("worker-01", "stage", s.at, time.Minute, nil)
			s.endIncomplete(engine.RunEnd{Exit: engine.ExitRefused, Reason: "incomplete: worker-01 is waiting for a maintenance window (" + closed + ")", Cause: incomplete(one("worker-01", engine.Closed, closed)), Pools: poolStatuses(map[engine.HostState]int{engine.Staged: 1}, engine.Updated)})
		},
		"end-rolled-back": func(s *script) {
			s.startRun("apply", "--yes")
			planned(s, one("worker-01", engine.RolledBack, "it was rolled back from bc30253b4147"))
			s.endIncomplete(engine.RunEnd{Exit: engine.ExitFailed, Reason: "incomplete: worker-01 is rolled back (it was rolled back from bc30253b4147)", Cause: incomplete(one("worker-01", engine.RolledBack, "it was rolled back from bc30253b4147")), Pools: poolStatuses(map[engine.HostState]int{engine.Degraded: 1}, engine.Updated)})
		},
		"end-unfinished": func(s *script) {
			s.startRun()
			p := engine.Plan{Unfinished: []engine.UnfinishedHost{{Host: "worker-01", Reason: "runs ffe304ca31ef, and not bc30253b4147 of run r1"}, {Host: "worker-02", Reason: "runs ffe304ca31ef, and not bc30253b4147 of run r1"}}}
			s.addEvent(engine.Event{Type: engine.Planned, Plan: &p})
			s.endIncomplete(engine.RunEnd{Exit: engine.ExitRefused, Reason: "refused: an earlier roll-out has not reached every host", Pools: poolStatuses(map[engine.HostState]int{engine.Pending: 12}, engine.Pending)})
		},
		"end-limit": func(s *script) {
			s.startRun("apply", "-y", "-l", "x", "-lworker-01", "--limit=worker-01")
			planned(s, nil, "worker-01")
			s.updateHosts("worker-01")
			s.endIncomplete(engine.RunEnd{Reason: "every host within the limit matches", Updated: []string{"worker-01"}, Pools: poolStatuses(map[engine.HostState]int{engine.Pending: 11}, engine.Updated)})
		},
		"end-failed-held": func(s *script) {
			s.startRun("apply", "-y", "-lworker*")
			planned(s, one("worker-03", engine.Held, "held by ann@bastion"), "worker-01")
			f := &engine.Failure{Host: "worker-01", Step: "stage", Cause: "no space left on device"}
			s.runStep("worker-01", "stage", s.at, time.Minute, f)
			s.addEvent(engine.Event{Type: engine.HostFailed, Host: "worker-01", Failure: f})
			s.endIncomplete(engine.RunEnd{Exit: engine.ExitFailed, Reason: "worker-01: stage: no space left on device", Cause: engine.EndCause{Kind: engine.FailedEnd, Failure: f}, Pools: poolStatuses(map[engine.HostState]int{engine.HeldState: 1, engine.Pending: 1}, engine.Updated)})
		},
		"end-held-paused": func(s *script) {
			s.startRun("apply", "-y")
			left := append(one("worker-03", engine.Held, "held by ann@bastion"), paused...)
			planned(s, left)
			s.endIncomplete(engine.RunEnd{Exit: engine.ExitRefused, Reason: "incomplete: worker-03 is held (held by ann@bastion); gpu-[0-4] are paused (the inventory pauses pool gpu)", Cause: incomplete(left), Pools: poolStatuses(map[engine.HostState]int{engine.HeldState: 1}, engine.PausedState)})
		},
		"end-plays": func(s *script) {
			s.startRun("apply", "restart.yaml")
			planned(s, one("worker-01", engine.Blocked, "pool worker: no seat"), "worker-02")
			planned(s, one("worker-03", engine.Held, "held by ann@bastion"), "worker-01")
			s.updateHosts("worker-02", "worker-01")
			s.endIncomplete(engine.RunEnd{Exit: engine.ExitRefused, Reason: "play restart: incomplete: worker-03 is held", Pools: poolStatuses(map[engine.HostState]int{engine.HeldState: 1}, engine.Updated)})
		},
	} {
		var s script
		tell(&s)
		compareGolden(t, name, s.printEnding(t))
	}
}
