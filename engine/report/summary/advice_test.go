package summary_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/reporttest"
)

// TestAdvice checks that the suggested command repeats the arguments of the
// run, except arguments that would start another run or not finish this run.
func TestAdvice(t *testing.T) {
	left := func(why engine.ExclusionKind, hosts ...string) (list []engine.Exclusion) {
		for _, h := range hosts {
			list = append(list, engine.Exclusion{Host: h, Kind: why, Reason: string(why)})
		}
		return list
	}
	planned := func(s *reporttest.Script, p engine.Plan) { s.AddEvent(event.Event{Type: event.Planned, Plan: &p}) }
	open := reporttest.PoolStatuses(map[engine.HostState]int{engine.Pending: 3}, engine.Pending)
	rolling := reporttest.OSPlan("worker-01", "worker", "", "")
	rolling.Sequence = []engine.Step{{Name: "hold", Do: engine.Op{TakeHold: &engine.TakeHold{Targets: map[string]string{"worker": "bc30"}}}}}
	for name, c := range map[string]struct {
		args []string
		tell func(s *reporttest.Script)
		end  event.RunEnd
		want string
	}{
		"done, and the site is not": {
			[]string{"apply", "-y", "-i", "a.hcl", "--var", "commit=1", "--runs=r", "--step", "night.yaml", "--tags", "x", "--on-held", "skip"},
			func(s *reporttest.Script) { planned(s, engine.Plan{Total: 20}) },
			event.RunEnd{Pools: open},
			"to see the remaining work: holdfast plan -i a.hcl --var 'commit=1' '--runs=r'\n",
		},
		"a saved plan and a limit": {
			[]string{"apply", "--plan", "p.plan", "-l", "worker-01"},
			func(s *reporttest.Script) { planned(s, engine.Plan{Total: 20, Matching: []string{"worker-01"}}) },
			event.RunEnd{Pools: open},
			"for the hosts outside of the limit: holdfast apply\n",
		},
		"a saved plan with a limit of its own": {
			[]string{"apply", "-i", "a.hcl", "--plan=p.plan"},
			func(s *reporttest.Script) {
				planned(s, engine.Plan{Total: 20, Selected: []string{"etcd-0", "etcd-1"}, Unfinished: []engine.UnfinishedHost{{Host: "worker-01", Reason: "runs another"}}})
			},
			event.RunEnd{Exit: engine.ExitRefused},
			"to leave it unfinished: holdfast apply -i a.hcl -l 'etcd-[0-1]' --continue-over-incomplete\n",
		},
		"the new roll-out has begun": {
			[]string{"apply", "-y", "--continue-over-incomplete"},
			func(s *reporttest.Script) {
				planned(s, engine.Plan{Total: 20, Hosts: []engine.HostPlan{rolling}})
				s.FailHost("worker-01", "finalize", "exit status 1", "it stays held")
			},
			event.RunEnd{Exit: engine.ExitFailed},
			"to go on from here, when that is put right: holdfast apply -y\n",
		},
		"the new roll-out has not begun": {
			[]string{"apply", "-y", "--continue-over-incomplete"},
			func(s *reporttest.Script) {
				planned(s, engine.Plan{Total: 20, Hosts: []engine.HostPlan{rolling}})
				s.RunStep("worker-01", "stage", s.At, time.Second)
			},
			event.RunEnd{Exit: engine.ExitStopped},
			"to go on from here: holdfast apply -y --continue-over-incomplete\n",
		},
		"paused, rolled back, blocked and a closed window": {
			[]string{"apply"},
			func(s *reporttest.Script) {
				x := append(left(engine.Paused, "gpu-0"), left(engine.RolledBack, "worker-01")...)
				x = append(x, left(engine.Blocked, "worker-02")...)
				planned(s, engine.Plan{Total: 20, Excluded: append(x, left(engine.Closed, "edge-0")...)})
			},
			event.RunEnd{Exit: engine.ExitFailed},
			"to finish, take paused out of the inventory; give another OS, or try this one again; wait until the maintenance window is open; and then: holdfast apply --retry-rolled-back\n",
		},
		"a play failed": {
			[]string{"apply", "night.yaml", "-l", "worker"},
			func(s *reporttest.Script) {
				s.BeginPlay("reboot", "reboot", "worker-01", "worker-02")
				s.RebootHost("worker-01", time.Minute)
				s.FailHost("worker-02", "reboot", "exit status 1", "it stays held")
			},
			event.RunEnd{Exit: engine.ExitFailed, Updated: []string{"worker-01"}, Failed: []string{"worker-02"}, Untouched: []string{"worker-03"}, NotBegun: []string{"tidy up"}},
			"put right: holdfast apply night.yaml -l 'worker-[02-03]'\n  without that limit, hosts that are done get all tasks again, such as a reboot\n  the plays that were not begun are for all their hosts: give these plays tags to choose them with --tags\n",
		},
		"one host failed, and another had been rolled back": {
			[]string{"apply"},
			func(s *reporttest.Script) {
				planned(s, engine.Plan{Total: 20, Hosts: []engine.HostPlan{reporttest.OSPlan("worker-01", "worker", "", "")}, Excluded: left(engine.RolledBack, "worker-02")})
				s.FailHost("worker-01", "finalize", "exit status 1", "it stays held")
			},
			event.RunEnd{Exit: engine.ExitFailed},
			"try this one again: holdfast apply --retry-rolled-back\n",
		},
	} {
		var s reporttest.Script
		s.StartRun(c.args...)
		c.tell(&s)
		s.AddEvent(event.Event{Type: event.RunEnded, End: &c.end})
		if text := s.PrintEnding(t); !strings.HasSuffix(text, c.want) {
			t.Errorf("%s: it does not end with\n%s\nbut is\n%s", name, c.want, text)
		}
	}
}
