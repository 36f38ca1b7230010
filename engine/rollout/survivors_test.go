package rollout_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/longtest"
	"holdfast/engine/report"
	"holdfast/engine/report/summary"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
	"holdfast/engine/simulator/laws"
)

// survivorSite is a site of members that run on during soft reboots.
func survivorSite(voters int) *simulator.Site {
	inv := simulator.Fleet(voters, 0)
	inv.Pools[0].Reboot.Soft = engine.AutoSoft
	inv.Pools[0].OS = &engine.OS{Driver: "ostree", Commit: simulator.V2}
	inv.Clusters[0].Managed = &engine.ManagedMembers{Unit: "etcd.service", SurviveSoftReboots: true}
	site := newSite(inv)
	for _, h := range site.Hosts() {
		h.Change(func(t *simulator.Traits) { t.Survives = true })
	}
	return site
}

// watchLeader notes the first call of a run at which the cluster has no leader.
func watchLeader(site *simulator.Site, b *simulator.Bastion, lost *string) {
	before := b.Fault
	b.Fault = func(c simulator.Call) simulator.Fault {
		if site.Leader("main") == "" && *lost == "" {
			*lost = fmt.Sprintf("the cluster has no leader at call %d, %s %s", c.N, c.Verb, c.Host)
		}
		if before != nil {
			return before(c)
		}
		return simulator.NoFault
	}
}

// TestSurvivorsOverUpdates kills a run at each of its calls, and lets others finish, then brings another OS: a cluster always
// has its leader, and no deployment goes under a member. A cluster of one waits for a yes before the second OS.
func TestSurvivorsOverUpdates(t *testing.T) {
	for _, voters := range []int{1, 3} {
		for killed := 1; killed <= 120; killed += longtest.Choose(20, 5, 5) + voters {
			synctest.Test(t, func(t *testing.T) {
				site, lost := survivorSite(voters), ""
				first, second := site.Bastion("run-1"), site.Bastion("run-2")
				first.Fault = func(c simulator.Call) simulator.Fault {
					if c.N == killed {
						return simulator.KillAfter
					}
					return simulator.NoFault
				}
				watchLeader(site, first, &lost)
				watchLeader(site, second, &lost)
				applyRun(first, runSerially)
				time.Sleep(10 * time.Minute)
				if err := checkEnd(applyRun(second, runSerially, successorOf(first)), engine.ExitOK); err != nil {
					t.Fatalf("%d voters, killed at %d: %v\n%s", voters, killed, err, strings.Join(site.Log(), "\n"))
				}
				time.Sleep(10 * time.Minute)
				site.Inventory.Pools[0].OS = &engine.OS{Driver: "ostree", Commit: simulator.V3}
				third, exit := site.Bastion("run-3"), engine.ExitOK
				watchLeader(site, third, &lost)
				end := applyRun(third, runSerially, successorOf(first, second))
				if voters == 1 {
					exit = engine.ExitFailed
				}
				if err := checkEnd(end, exit); err != nil || lost != "" || checkLaws(site) != nil {
					t.Fatalf("%d voters, killed at %d: %v, %s, %v\n%s", voters, killed, err, lost, checkLaws(site), strings.Join(site.Log(), "\n"))
				}
			})
		}
	}
}

// TestSurvivorsInSummary: a member that runs on during a soft reboot is not down, although no sample reaches it through its host.
// A restart takes it down.
func TestSurvivorsInSummary(t *testing.T) {
	for voters, want := range map[int]struct {
		least  int
		taken  []string
		unseen []string
	}{
		1: {1, nil, []string{"etcd-0"}},
		3: {2, []string{"etcd-0", "etcd-1", "etcd-2"}, []string{"etcd-0", "etcd-1", "etcd-2"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			site, sums := survivorSite(voters), summary.New()
			b := site.Bastion("run-1")
			end := applyRun(b, runSerially)
			failOnErrors(t, checkEnd(end, engine.ExitOK), checkLaws(site))
			for _, e := range b.Events() {
				sums.AddEvent(e)
			}
			var got summary.EtcdTotals
			for _, got = range sums.Etcd() { // the site has one cluster
			}
			slices.Sort(got.TakenDown)
			slices.Sort(got.Unseen)
			if got.Least != want.least || got.Voters != voters || !slices.Equal(got.TakenDown, want.taken) || !slices.Equal(got.Unseen, want.unseen) {
				t.Errorf("%d voters: %+v", voters, got)
			}
			for _, h := range end.Hosts {
				if h.DownFor == 0 || h.MemberDownFor >= h.DownFor || h.FailedProbes > 1 || voters == 1 && h.MemberDownFor+engine.Duration(h.FailedProbes) > 0 {
					t.Errorf("%d voters: %+v", voters, h)
				}
			}
		})
	}
}

// TestDeclinedAfterARestart: a run that has restarted services of a host before its update, and whose next batch nobody approves,
// does not end with the claim that it disrupted no host.
func TestDeclinedAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := survivorSite(3)
		first, second := site.Bastion("run-1"), site.Bastion("run-2")
		failOnErrors(t, checkEnd(applyRun(first, runSerially), engine.ExitOK), checkLaws(site))
		site.Host("etcd-0").SoftReboot() // by a person, into its previous OS; its member runs on
		time.Sleep(10 * time.Minute)
		site.Inventory.Pools[0].OS = &engine.OS{Driver: "ostree", Commit: simulator.V3}
		second.Asked = &laws.Asked{Over: true} // etcd-0 runs another OS than the last roll-out brought
		restarts := false
		end := applyRun(second, runSerially, successorOf(first), func(r *rollout.Run) {
			r.OverIncomplete = true
			r.Step = func(_ context.Context, p engine.Plan) error {
				if restarts {
					return rollout.ErrNoStep
				}
				restarts = p.Host(p.Batches[0].Hosts[0]).RestartsFirst
				return nil
			}
		})
		failOnErrors(t, checkEnd(end, engine.ExitStopped), checkLaws(site))
		if text := report.EndText(end); !restarts || text != "not approved; 3 hosts not updated" {
			t.Errorf("restarts first: %t; %s\n%s", restarts, text, strings.Join(site.Log(), "\n"))
		}
	})
}

// blindObserver does not see that a member runs from another deployment.
type blindObserver struct{ engine.Observer }

func (o blindObserver) Read(d engine.Desired, out engine.Outputs, f engine.Facts) engine.Facts {
	f = o.Observer.Read(d, out, f)
	f.Survivors = append([]engine.Survivor(nil), f.Survivors...)
	for i := range f.Survivors {
		f.Survivors[i].Outdated = false
	}
	return f
}

// TestSurvivorLawBites: a run that does not see that a member runs from another deployment breaks the law.
func TestSurvivorLawBites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := survivorSite(1)
		first, second := site.Bastion("run-1"), site.Bastion("run-2")
		failOnErrors(t, checkEnd(applyRun(first, runSerially), engine.ExitOK), checkLaws(site))
		site.Inventory.Pools[0].OS = &engine.OS{Driver: "ostree", Commit: simulator.V3}
		applyRun(second, runSerially, successorOf(first), func(r *rollout.Run) { blindToSurvivors(site, r) })
		if err := checkLaws(site); err == nil || !strings.Contains(err.Error(), "etcd-0 is staged while its etcd member runs from v1, not from v2") {
			t.Errorf("the law has not noticed it: %v", err)
		}
	})
}

// TestHostsCheckSurvivors: a person soft reboots a host into its previous OS right before a run stages another one. The host
// refuses the staging, because its member would lose its files; the next run restarts the member first. Without the check of
// the host, the run breaks the law.
func TestHostsCheckSurvivors(t *testing.T) {
	for _, lax := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			site := survivorSite(3)
			first, second, third := site.Bastion("run-1"), site.Bastion("run-2"), site.Bastion("run-3")
			failOnErrors(t, checkEnd(applyRun(first, runSerially), engine.ExitOK), checkLaws(site))
			host, done := site.Host("etcd-1"), false
			host.Change(func(t *simulator.Traits) { t.Lax = lax })
			second.Fault = func(c simulator.Call) simulator.Fault {
				if c.Host == host.Name && c.Verb == "stage" && !done {
					done = true
					host.SoftReboot()
					time.Sleep(10 * time.Minute)
				}
				return simulator.NoFault
			}
			site.Inventory.Pools[0].OS = &engine.OS{Driver: "ostree", Commit: simulator.V3}
			end := applyRun(second, runSerially, successorOf(first))
			if err := checkLaws(site); lax {
				if err == nil || !strings.Contains(err.Error(), "etcd-1 is staged while its etcd member runs from v2, not from v1") {
					t.Errorf("the law has not noticed it: %v", err)
				}
				return
			}
			refused := slices.ContainsFunc(second.Events(), func(e event.Event) bool {
				return e.Host == host.Name && e.Failure != nil && strings.Contains(e.Failure.Cause, "runs from another deployment than the host")
			})
			if !done || !refused || end.Exit == engine.ExitOK {
				t.Errorf("exit %d, refused %v\n%s", end.Exit, refused, strings.Join(site.Log(), "\n"))
			}
			third.Asked = &laws.Asked{Over: true} // etcd-1 runs another OS than the last roll-out brought
			end = applyRun(third, runSerially, successorOf(first, second), func(r *rollout.Run) { r.OverIncomplete = true })
			failOnErrors(t, checkEnd(end, engine.ExitOK), checkLaws(site))
		})
	}
}

// TestPendingRestart: a run dies between the soft reboot for a setting and the restart of the member that ran on, before or
// after the record would be next. The next run restarts the member once, and a third one has nothing to do.
func TestPendingRestart(t *testing.T) {
	for _, verb := range []string{"restart survivors", "record", "units"} {
		synctest.Test(t, func(t *testing.T) {
			site, rebooted, killed := survivorSite(3), "", false
			site.Inventory.Pools[0].OS.Commit = simulator.V1
			for _, h := range site.Hosts() {
				site.Want(h.Name, "reboot-2")
			}
			first, second := site.Bastion("run-1"), site.Bastion("run-2")
			first.Fault = func(c simulator.Call) simulator.Fault {
				if c.Verb == "reboot" {
					rebooted = c.Host
				}
				if rebooted != "" && (c.Verb == verb || verb == "units" && c.Verb != "reboot") {
					killed = true
					return simulator.KillBefore
				}
				return simulator.NoFault
			}
			applyRun(first, runSerially)
			time.Sleep(10 * time.Minute)
			restarts := 0
			second.Fault = func(c simulator.Call) simulator.Fault {
				if c.Host == rebooted && c.Verb == "restart survivors" {
					restarts++
				}
				return simulator.NoFault
			}
			failOnErrors(t, checkEnd(applyRun(second, runSerially, successorOf(first)), engine.ExitOK), checkLaws(site))
			if !killed || restarts != 1 {
				t.Errorf("%s: killed %v, %s restarted %d times\n%s", verb, killed, rebooted, restarts, strings.Join(site.Log(), "\n"))
			}
			failOnErrors(t, checkEnd(applyRun(site.Bastion("run-3"), runSerially), engine.ExitOK))
		})
	}
}

// outdatedObserver always sees members run from another deployment.
type outdatedObserver struct{ engine.Observer }

func (o outdatedObserver) Read(d engine.Desired, out engine.Outputs, f engine.Facts) engine.Facts {
	f = o.Observer.Read(d, out, f)
	f.Survivors = slices.Clone(f.Survivors)
	for i := range f.Survivors {
		f.Survivors[i].Outdated = true
	}
	return f
}

// TestRestartsEnd: a service that seems to run from another deployment after its restart, too, is not restarted again.
func TestRestartsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, restarts := survivorSite(3), map[string]int{}
		b := site.Bastion("run-1")
		b.Fault = func(c simulator.Call) simulator.Fault {
			if c.Verb != "restart survivors" {
				return simulator.NoFault
			}
			if restarts[c.Host]++; restarts[c.Host] > 3 {
				return simulator.KillBefore
			}
			return simulator.NoFault
		}
		end := applyRun(b, runSerially, func(r *rollout.Run) {
			r.Modules = slices.Clone(r.Modules)
			r.Modules[0].Observer = outdatedObserver{r.Modules[0].Observer}
		})
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "has restarted etcd.service, which still runs from another root"), checkLaws(site))
		for host, n := range restarts {
			if n > 1 {
				t.Errorf("%s: %d restarts", host, n)
			}
		}
	})
}
