package rollout_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// failCommand lets a command fail on one host.
func failCommand(text, host string) func(simulator.Command) *rollout.Reply {
	return func(c simulator.Command) *rollout.Reply {
		if c.Text == text && c.Host == host {
			return &rollout.Reply{Code: 1}
		}
		return nil
	}
}

// bothPools returns members and workers in independent pools whose failure
// budgets allow that many failures.
func bothPools(members, workers, mayFail int) engine.Inventory {
	inv := simulator.Fleet(members, workers)
	for i := range inv.Pools {
		inv.Pools[i].After = nil
		inv.Pools[i].FailureBudget = engine.CountOrPercent{Count: mayFail, Set: true}
	}
	inv.Pools[1].MaxUnavailable = engine.CountOrPercent{Count: 2, Set: true}
	return inv
}

// TestAnUnsafeQuorumIsNotHiddenByATolerableFailure checks that a quorum in
// danger ends the run, even if other hosts of the batch fail.
func TestAnUnsafeQuorumIsNotHiddenByATolerableFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := bothPools(3, 4, 2)
		inv.Pools[0].Drain = &engine.Drain{Command: "slow"}
		site := newSite(inv)
		b := site.Bastion("run-1")
		b.Takes = func(c simulator.Command) time.Duration {
			if c.Text == "slow" {
				return 5 * time.Minute
			}
			return 0
		}
		b.Command = failCommand("drain", "worker-0")
		site.After(4*time.Minute, func() { site.Host("etcd-2").StopEtcd() })
		end := applyRun(b)
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "check quorum", "etcd-2 is not healthy"), checkLaws(site))
		if got := rebootedHosts(b); !slices.Equal(got, []string{"worker-1"}) {
			t.Errorf("%v went", got)
		}
	})
}

// TestAForeignHoldIsNotHiddenByATolerableFailure checks that somebody else's
// hold ends the run, even if other hosts of the batch fail. The exit code then
// reports the failed host.
func TestAForeignHoldIsNotHiddenByATolerableFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(bothPools(0, 5, 2))
		b := site.Bastion("run-1")
		b.Command = failCommand("drain", "worker-0")
		b.Watch = func(e event.Event) {
			if e.Type == event.BatchStarted {
				site.Host("worker-1").SetHold(&engine.Hold{Kind: engine.MaintenanceHold, Run: "m", Holder: "bob@other", Reason: "disk"})
			}
		}
		end := applyRun(b)
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "worker-1: ", "bob@other", "worker-0: drain: exit status 1"), checkLaws(site))
		if got := rebootedHosts(b); len(got) > 0 {
			t.Errorf("%v went", got)
		}
	})
}

// The end of a run that meets somebody else's hold names a host that failed in
// an earlier batch once, although the last plan excludes that host, too.
func TestAnEarlierFailureIsNamedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(bothPools(0, 4, 1))
		b := site.Bastion("run-1")
		b.Command = failCommand("drain", "worker-0")
		batches := 0
		b.Watch = func(e event.Event) {
			if e.Type != event.BatchStarted {
				return
			}
			if batches++; batches == 2 {
				site.Host("worker-2").SetHold(&engine.Hold{Kind: engine.MaintenanceHold, Run: "m", Holder: "bob@other", Reason: "disk"})
			}
		}
		end := applyRun(b)
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "worker-2: ", "bob@other", "worker-0"), checkLaws(site))
		if n := strings.Count(findingsText(end), "worker-0"); n != 1 {
			t.Errorf("worker-0 is named %d times: %s", n, findingsText(end))
		}
	})
}

// The end of the run names the host that ended it, and not a failed host within
// the failure budget.
func TestTheFailureThatEndsTheRunIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := bothPools(3, 2, 1)
		inv.Pools[0].FailureBudget = engine.CountOrPercent{}
		inv.Pools[0].Drain = &engine.Drain{Command: "slow"}
		site := newSite(inv)
		b := site.Bastion("run-1")
		b.Command = func(c simulator.Command) *rollout.Reply {
			if c.Text == "drain" && c.Host == "worker-0" || c.Text == "slow" {
				return &rollout.Reply{Code: 1}
			}
			return nil
		}
		end := applyRun(b)
		if strings.Contains(findingsText(end), "hosts have failed") {
			t.Errorf("hosts of other pools are counted: %s", findingsText(end))
		}
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "etcd-1: drain: exit status 1"), checkLaws(site))
	})
}

// TestGatesAfterABatchLeaveOutWhatFailed checks that gates about hosts skip
// failed hosts within the failure budget and hosts that wait for a reboot.
// Gates about pools are asked anyway.
func TestGatesAfterABatchLeaveOutWhatFailed(t *testing.T) {
	for name, tc := range map[string]struct {
		breaks func(*simulator.Host)
		url    string
		fails  bool
	}{
		"lost":                {func(h *simulator.Host) { h.Change(func(t *simulator.Traits) { t.NoReturn = true }) }, "http://{host}/", true},
		"lost, and of a pool": {func(h *simulator.Host) { h.Change(func(t *simulator.Traits) { t.NoReturn = true }) }, "http://{pool}/", true},
		"to be rebooted": {func(h *simulator.Host) {
			h.Set("none-1")
			h.Change(func(t *simulator.Traits) { t.ActFails = true })
		}, "http://{host}/", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := bothPools(0, 3, 2)
				if inv.Pools[1].Gates = []engine.Gate{{Name: "well", HTTP: &engine.HTTPGate{URL: tc.url}, When: []engine.GateWhen{engine.AfterBatch}}}; !tc.fails {
					inv = noOS(inv)
				}
				site := newSite(inv)
				h := site.Host("worker-0")
				if tc.breaks(h); !tc.fails {
					site.Want("worker-0", "restart-2")
				}
				b := site.Bastion("run-1")
				asked, well := 0, false
				b.Watch = func(e event.Event) { well = well || e.Type == event.HostDone && e.Host == "worker-0" }
				b.Answer = func(url string) (int, string) {
					if asked++; strings.Contains(url, "worker-0") && !well {
						return 500, ""
					}
					return 200, ""
				}
				end := applyRun(b)
				if failOnErrors(t, checkLaws(site)); len(end.Untouched) > 0 || tc.fails == (end.Exit == engine.ExitOK) || asked == 0 {
					t.Errorf("asked %d times; %+v\n%s", asked, end, runTranscript(b))
				}
			})
		})
	}
}

// In a batch with a canary of one pool, a host of another pool may fail if the
// canaries of that pool have passed. The canary may not fail.
func TestOnlyTheCanaryOfABatchMayNotFail(t *testing.T) {
	for host, goOn := range map[string]bool{"edge-0": true, "worker-0": false} {
		t.Run(host, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := bothPools(0, 2, 1)
				inv.Pools[1].Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}}
				inv.Pools = append(inv.Pools, engine.Pool{Name: "edge", OS: inv.Pools[1].OS, FailureBudget: engine.CountOrPercent{Count: 1, Set: true}})
				for _, name := range []string{"edge-0", "edge-1"} {
					inv.Hosts = append(inv.Hosts, engine.Host{Name: name, Pool: "edge"})
				}
				site := newSite(inv)
				site.Host(host).Change(func(t *simulator.Traits) { t.Stubborn = true })
				b := site.Bastion("run-1")
				failOnErrors(t, checkEnd(applyRun(b), engine.ExitFailed, host), checkLaws(site))
				if slices.Contains(rebootedHosts(b), "worker-1") != goOn {
					t.Errorf("%v went", rebootedHosts(b))
				}
			})
		})
	}
}
