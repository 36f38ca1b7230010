package summary_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/textutil"
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
	rolling.Sequence = []engine.Step{{Name: "hold", Do: engine.Op{TakeHold: &engine.TakeHold{Rollout: &engine.Rollout{Targets: map[string]string{"worker": "bc30"}}}}}}
	for name, c := range map[string]struct {
		args  []string
		tell  func(s *reporttest.Script)
		found engine.Findings
		end   event.RunEnd
		want  string
	}{
		"done, and the site is not": {
			[]string{"--yes", "--inventory=a.hcl", "--var=commit=1", "--runs=r", "--step", "night.yaml", "--tags=x", "--on-held=skip"},
			func(s *reporttest.Script) { planned(s, engine.Plan{Total: 20}) },
			engine.Findings{},
			event.RunEnd{Pools: open},
			"exit 0: done; the site is not complete; next: holdfast plan -i a.hcl --var 'commit=1' --runs r\n",
		},
		"a saved plan and a limit": {
			[]string{"--plan=p.plan", "--limit=worker-01"},
			func(s *reporttest.Script) { planned(s, engine.Plan{Total: 20, Matching: []string{"worker-01"}}) },
			engine.Findings{},
			event.RunEnd{Pools: open},
			"; next: holdfast apply\n",
		},
		"a playbook with a limit, done, and the site is not": {
			[]string{"--yes", "--inventory=a.hcl", "restart.yaml", "--limit=worker-01"},
			func(s *reporttest.Script) {
				s.BeginPlay("restart", "reboot", "worker-01")
				s.RebootHost("worker-01", time.Minute)
			},
			engine.Findings{},
			event.RunEnd{Updated: []string{"worker-01"}, Pools: open},
			"exit 0: done; the site is not complete; 1 host updated; next: holdfast plan -i a.hcl\n",
		},
		"a saved plan of a play, done, and the site is not": {
			[]string{"--plan=p.plan", "restart.yaml"},
			func(s *reporttest.Script) {
				planned(s, engine.Plan{Total: 20, Play: "restart", Selected: []string{"worker-01"}})
			},
			engine.Findings{},
			event.RunEnd{Pools: open},
			"; next: holdfast plan\n",
		},
		"a limit, and a secret variable": {
			[]string{"--yes", "--var=token=" + textutil.Hidden, "--limit=worker-01"},
			func(s *reporttest.Script) { planned(s, engine.Plan{Total: 20, Matching: []string{"worker-01"}}) },
			engine.Findings{},
			event.RunEnd{Pools: open},
			"  give these with their secret values, as before: --var token\nexit 0: done; the site is not complete; next: holdfast apply -y\n",
		},
		"nothing was touched, and a secret variable": {
			[]string{"--yes", "--var=token=" + textutil.Hidden},
			func(s *reporttest.Script) { planned(s, engine.Plan{Total: 20}) },
			engine.Findings{Refusals: []string{"etcd-0: no"}},
			event.RunEnd{},
			"  give these with their secret values, as before: --var token\nexit 3: not safe to go on; next: holdfast apply -y\n",
		},
		"an unfinished roll-out, and a secret variable": {
			[]string{"--yes", "--var=token=" + textutil.Hidden},
			func(s *reporttest.Script) { planned(s, engine.Plan{Total: 20}) },
			engine.Findings{Unfinished: []engine.UnfinishedHost{{Host: "worker-01", Reason: "runs another"}}},
			event.RunEnd{},
			"  give these with their secret values, as before: --var token\nexit 4: refused: an earlier roll-out is unfinished; next: holdfast apply -y\n",
		},
		"a saved plan with permissions": {
			[]string{"--inventory=a.hcl", "--plan=p.plan"},
			func(s *reporttest.Script) {
				planned(s, engine.Plan{Total: 20, Selected: []string{"etcd-0", "etcd-1"}, FullReboot: true, AnyEtcdVersion: true, RetryRolledBack: true, OverriddenRun: "run-0", Repair: []string{"etcd-0", "etcd-1"}})
				s.FailHost("etcd-0", "finalize", "exit status 1", "it stays held")
			},
			engine.Findings{Failures: []engine.Failure{{Host: "etcd-0"}}},
			event.RunEnd{Failed: []string{"etcd-0"}},
			"exit 3: 1 host failed; next: holdfast apply -i a.hcl -l 'etcd-[0-1]' --full-reboot --any-etcd-version --retry-rolled-back --continue-over-incomplete --repair-member etcd-0 --repair-member etcd-1\n",
		},
		"a saved plan with permissions, and flags that replace them": {
			[]string{"--plan=p.plan", "--full-reboot", "--repair-member=etcd-1"},
			func(s *reporttest.Script) {
				planned(s, engine.Plan{Total: 20, FullReboot: true, Repair: []string{"etcd-1"}})
			},
			engine.Findings{Refusals: []string{"etcd-0: no"}},
			event.RunEnd{},
			"; next: holdfast apply --full-reboot --repair-member etcd-1\n",
		},
		"a saved plan with a limit of its own": {
			[]string{"--inventory=a.hcl", "--plan=p.plan"},
			func(s *reporttest.Script) {
				planned(s, engine.Plan{Total: 20, Selected: []string{"etcd-0", "etcd-1"}})
			},
			engine.Findings{Unfinished: []engine.UnfinishedHost{{Host: "worker-01", Reason: "runs another"}}},
			event.RunEnd{},
			"  to leave it unfinished: add --continue-over-incomplete\nexit 4: refused: an earlier roll-out is unfinished; next: holdfast apply -i a.hcl -l 'etcd-[0-1]'\n",
		},
		"a dead etcd member": {
			[]string{"--yes", "--inventory=a.hcl", "--var=commit=1", "--limit=etcd-0"},
			func(s *reporttest.Script) {
				planned(s, engine.Plan{Total: 20})
			},
			engine.Findings{Refusals: []string{"etcd-0: no"}, UnhealthyClusters: []etcdfacts.UnhealthyCluster{{Cluster: "main", Problems: []string{"etcd-2 is down"}}}},
			event.RunEnd{},
			"  to look at etcd cluster main: holdfast etcd status main -i a.hcl --var 'commit=1'\n" +
				"  to replace a member whose host is gone for good, if the cluster has manage = true: holdfast etcd members plan main -i a.hcl --var 'commit=1'\n" +
				"exit 3: not safe to go on; etcd cluster main is not healthy; next: holdfast apply -y -i a.hcl --var 'commit=1' -l etcd-0\n",
		},
		"the new roll-out has begun": {
			[]string{"--yes", "--continue-over-incomplete"},
			func(s *reporttest.Script) {
				planned(s, engine.Plan{Total: 20, Hosts: []engine.HostPlan{rolling}})
				s.FailHost("worker-01", "finalize", "exit status 1", "it stays held")
			},
			engine.Findings{Failures: []engine.Failure{{Host: "worker-01"}}},
			event.RunEnd{Failed: []string{"worker-01"}},
			"exit 3: 1 host failed; next: holdfast apply -y\n",
		},
		"the new roll-out has not begun": {
			[]string{"--yes", "--continue-over-incomplete"},
			func(s *reporttest.Script) {
				planned(s, engine.Plan{Total: 20, Hosts: []engine.HostPlan{rolling}})
				s.RunStep("worker-01", "stage", s.At, time.Second)
			},
			engine.Findings{Stopped: true},
			event.RunEnd{},
			"exit 6: stopped by the operator; next: holdfast apply -y --continue-over-incomplete\n",
		},
		"paused, rolled back, blocked and a closed window": {
			nil,
			func(s *reporttest.Script) { planned(s, engine.Plan{Total: 20}) },
			engine.Findings{Excluded: slices.Concat(left(engine.Paused, "gpu-0"), left(engine.RolledBack, "worker-01"), left(engine.Blocked, "worker-02"), left(engine.Closed, "edge-0"))},
			event.RunEnd{},
			"  take paused out of the inventory\n  wait until the maintenance window is open\n" +
				"exit 3: 1 host paused, 1 rolled back, 1 blocked, 1 waiting for a maintenance window; next: holdfast apply --retry-rolled-back\n",
		},
		"a play failed": {
			[]string{"night.yaml", "--limit=worker"},
			func(s *reporttest.Script) {
				s.BeginPlay("reboot", "reboot", "worker-01", "worker-02")
				s.RebootHost("worker-01", time.Minute)
				s.FailHost("worker-02", "reboot", "exit status 1", "it stays held")
			},
			engine.Findings{Failures: []engine.Failure{{Host: "worker-02"}}},
			event.RunEnd{Updated: []string{"worker-01"}, Failed: []string{"worker-02"}, Untouched: []string{"worker-03"}, NotBegun: []string{"tidy up"}},
			"  without --limit, hosts that are done get all tasks again, such as a reboot\n  run the plays that were not begun for all their hosts, without --limit: select them with --tags\n" +
				"exit 3: 1 host failed; 1 host updated, 1 not updated; next: holdfast apply night.yaml -l 'worker-[02-03]'\n",
		},
		"a play failed on one host, and another is held": {
			[]string{"restart.yaml"},
			func(s *reporttest.Script) {
				s.BeginPlay("restart", "reboot", "worker-01", "worker-02")
				s.RebootHost("worker-01", time.Minute)
				s.FailHost("worker-02", "reboot", "exit status 1", "it stays held")
			},
			engine.Findings{Failures: []engine.Failure{{Host: "worker-02"}}, Excluded: left(engine.Held, "worker-03")},
			event.RunEnd{Updated: []string{"worker-01"}, Failed: []string{"worker-02"}},
			"next: holdfast apply restart.yaml -l 'worker-[02-03]'\n",
		},
		"a host of a play is done, and does not answer any more": {
			[]string{"restart.yaml"},
			func(s *reporttest.Script) {
				s.BeginPlay("restart", "reboot", "worker-01", "worker-02")
				s.RebootHost("worker-01", time.Minute)
				s.FailHost("worker-02", "reboot", "exit status 1", "it stays held")
			},
			engine.Findings{Failures: []engine.Failure{{Host: "worker-02"}}, Excluded: left(engine.Unreachable, "worker-01")},
			event.RunEnd{Updated: []string{"worker-01"}, Failed: []string{"worker-02"}},
			"next: holdfast apply restart.yaml -l worker-02\n",
		},
		"the second play was not approved": {
			[]string{"night.yaml"},
			func(s *reporttest.Script) {
				s.BeginPlay("upgrade", "", "worker-01")
				s.RebootHost("worker-01", time.Minute)
				s.BeginPlay("restart", "reboot", "worker-01")
			},
			engine.Findings{Stopped: true, Declined: true},
			event.RunEnd{Updated: []string{"worker-01"}, NotBegun: []string{"restart"}},
			"  hosts that are done get all tasks again, such as a reboot\n  run the plays that were not begun for all their hosts, without --limit: select them with --tags\n" +
				"exit 6: not approved; 1 host updated; next: holdfast apply night.yaml\n",
		},
		"one host failed, and another had been rolled back": {
			nil,
			func(s *reporttest.Script) {
				planned(s, engine.Plan{Total: 20, Hosts: []engine.HostPlan{reporttest.OSPlan("worker-01", "worker", "", "")}})
				s.FailHost("worker-01", "finalize", "exit status 1", "it stays held")
			},
			engine.Findings{Failures: []engine.Failure{{Host: "worker-01"}}, Excluded: left(engine.RolledBack, "worker-02")},
			event.RunEnd{Failed: []string{"worker-01"}},
			"exit 3: 1 host failed, 1 rolled back; next: holdfast apply --retry-rolled-back\n",
		},
	} {
		var s reporttest.Script
		s.StartRun(c.args...)
		c.tell(&s)
		s.EndRun(c.found, c.end)
		if text := s.PrintEnding(t); !strings.HasSuffix(text, c.want) {
			t.Errorf("%s: it does not end with\n%s\nbut is\n%s", name, c.want, text)
		}
	}
}
