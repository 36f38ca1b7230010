package rollout_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/governor"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// governorEvents returns the events of the governor, of one host or of all.
func governorEvents(b *simulator.Bastion, host string) (all []engine.Governor) {
	for _, e := range b.Events() {
		if e.Type == event.StagingGoverned && (host == "" || e.Host == host) {
			all = append(all, *e.Governor)
		}
	}
	return all
}

func statesOf(events []engine.Governor) string {
	var states []string
	for _, e := range events {
		states = append(states, string(e.State))
	}
	return strings.Join(states, " ")
}

// slowStage makes a staging take some minutes on the hosts of a site.
func slowStage(site *simulator.Site, takes time.Duration) {
	for _, h := range site.Inventory.Hosts {
		site.Host(h.Name).Change(func(t *simulator.Traits) { t.Stage = takes })
	}
}

// TestGovernorReportsEachMember checks that the idle latency is measured once,
// before the first staging of a run, and that each staging reports the latency
// of all members. A worker without etcd nearby is not governed.
func TestGovernorReportsEachMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 1))
		b := site.Bastion("run-1")
		b.Disk = func(string, time.Time) float64 { return 0.004 }
		failOnErrors(t, checkEnd(applyRun(b, runSerially), engine.ExitOK), checkConverged(site))
		if events := governorEvents(b, "worker-0"); len(events) > 0 {
			t.Errorf("worker-0: %+v", events)
		}
		for _, host := range []string{"etcd-0", "etcd-1", "etcd-2"} {
			events := governorEvents(b, host)
			if statesOf(events) != "free ended" || len(events[0].Levers) != 2 || !events[0].Levers[0].InForce || events[0].Levers[1].Name != engine.RateLever || events[0].Levers[1].InForce {
				t.Fatalf("%s: %+v", host, events)
			}
			end := events[1]
			if len(end.Members) != 3 || end.SlowedFor > 0 || end.PausedFor > 0 {
				t.Errorf("%s: %+v", host, end)
			}
			for _, m := range end.Members {
				if m.Idle.WALFsyncP99Seconds != 0.004 || m.Idle.Window < engine.Duration(10*time.Second) || m.Worst.WALFsyncP99Seconds != 0.004 || m.Staging.Window == 0 || m.WorstAt.IsZero() {
					t.Errorf("%s: %+v", host, m)
				}
			}
		}
	})
}

// TestGovernorSlowsDown checks that a slow member slows the staging of another
// member, and that the staging has full speed again when the disk of the slow
// member has recovered for some minutes.
func TestGovernorSlowsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 0))
		slowStage(site, 8*time.Minute)
		b := site.Bastion("run-1")
		began := time.Now()
		b.Disk = func(host string, at time.Time) float64 {
			if since := at.Sub(began); host == "etcd-2" && since > time.Minute && since < 90*time.Second {
				return 0.2
			}
			return 0.002
		}
		runEnd := applyRun(b, runSerially)
		failOnErrors(t, checkEnd(runEnd, engine.ExitOK), checkConverged(site))
		events := governorEvents(b, "etcd-1")
		states := statesOf(events)
		if !strings.HasPrefix(states, "free slowed paused slowed") || !strings.HasSuffix(states, "free ended") {
			t.Fatalf("states of etcd-1: %s", states)
		}
		slow := events[1]
		if slow.MemberHost != "etcd-2" || slow.Metric != engine.WALFsync || slow.P99 != engine.Duration(200*time.Millisecond) || slow.Limit != engine.Duration(10*time.Millisecond) || slow.Pace.Pause < engine.FloorPace().Pause {
			t.Errorf("%+v", slow)
		}
		end := events[len(events)-1]
		if end.SlowedFor < engine.Duration(20*time.Second) || end.PausedFor < engine.Duration(5*time.Second) {
			t.Errorf("%+v", end)
		}
		i := slices.IndexFunc(runEnd.Hosts, func(h event.HostTotals) bool { return h.Host == "etcd-1" })
		if i < 0 || runEnd.Hosts[i].SlowedFor != end.SlowedFor || runEnd.Hosts[i].PausedFor != end.PausedFor || runEnd.Hosts[i].MemberDownFor < runEnd.Hosts[i].DownFor || runEnd.Hosts[i].DownFor == 0 {
			t.Errorf("totals %+v", runEnd.Hosts)
		}
		if len(runEnd.Clusters) != 1 || runEnd.Clusters[0].Samples == 0 {
			t.Errorf("%+v", runEnd.Clusters)
		}
		if paces := site.Host("etcd-1").Paces(); len(paces) < 8*60/5 {
			t.Errorf("%d paces in 8 minutes", len(paces))
		}
	})
}

// TestGovernorWithoutLevers checks that a staging that nothing can slow is not
// reported as slowed or paused, although a member exceeds its limits for some
// time.
func TestGovernorWithoutLevers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 0))
		slowStage(site, 4*time.Minute)
		for _, h := range site.Inventory.Hosts {
			site.Host(h.Name).Change(func(t *simulator.Traits) { t.NoFreezer = true })
		}
		b := site.Bastion("run-1")
		began := time.Now()
		b.Disk = func(_ string, at time.Time) float64 {
			if since := at.Sub(began); since > time.Minute && since < 90*time.Second {
				return 0.2
			}
			return 0.002
		}
		failOnErrors(t, checkEnd(applyRun(b, runSerially), engine.ExitOK), checkConverged(site))
		events := governorEvents(b, "etcd-1")
		if statesOf(events) != "free ended" {
			t.Fatalf("states of etcd-1: %s", statesOf(events))
		}
		if end := events[1]; end.SlowedFor > 0 || end.PausedFor > 0 || end.Levers[0].InForce || end.Levers[0].Reason == "" {
			t.Errorf("%+v", end)
		}
	})
}

// TestGovernorStopsStaging checks that a limit that cannot be kept stops the
// staging. The host is untouched and not held, and the reason names the member,
// its latency and its limit.
func TestGovernorStopsStaging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 0))
		slowStage(site, 20*time.Minute)
		site.Inventory.Clusters[0].Latency = &engine.Latency{AbortAfter: engine.Duration(20 * time.Second)}
		b := site.Bastion("run-1")
		began := time.Now()
		b.Disk = func(host string, at time.Time) float64 {
			if host == "etcd-2" && at.Sub(began) > time.Minute {
				return 0.05
			}
			return 0.002
		}
		end := applyRun(b, runSerially)
		failOnErrors(t, checkEnd(end, engine.ExitFailed))
		events := governorEvents(b, "etcd-1")
		last := events[len(events)-2]
		if last.StopReason != engine.StopLatency || last.MemberHost != "etcd-2" || last.P99 != engine.Duration(50*time.Millisecond) {
			t.Errorf("%+v", last)
		}
		var failed *engine.Failure
		for _, e := range b.Events() {
			if e.Type == event.HostFailed {
				failed = e.Failure
			}
		}
		if failed == nil || failed.Host != "etcd-1" || failed.Kind != engine.LatencyFailure || failed.Cause != "the p99 of WAL fsync on etcd-2 is 50ms, above its limit of 10ms, after 20s at the slowest pace; staging was stopped to protect etcd" {
			t.Errorf("%+v", failed)
		}
		h := site.Host("etcd-1")
		failOnErrors(t, checkFree(h), checkNotRebooted(h))
		if calls := b.Calls(); !containsVerb(calls, "abort") {
			t.Error("the staging was not stopped on the host")
		}
	})
}

// TestLostStagingIsNotLeftAlone checks a connection that is lost while a member is staged. The staging unit may still run on
// the host, without a governor, so the run stops it. If the run cannot stop it, the failure says that the unit may still
// run, and the run stages no other host near the cluster. If another one must be staged, the run ends, also with
// --best-effort.
func TestLostStagingIsNotLeftAlone(t *testing.T) {
	for _, c := range []struct {
		name, host   string
		stage, abort simulator.Fault // of the calls to that host
		change       func(*simulator.Site)
		staged       string
		told, aborts bool
		stops        time.Duration // time that the staging takes to stop
	}{
		{name: "stops slowly", host: "etcd-1", stage: simulator.LostBack, staged: "etcd-1 etcd-2 etcd-0", aborts: true, stops: 2 * time.Minute},
		{name: "stopped", host: "etcd-1", stage: simulator.LostBack, staged: "etcd-1 etcd-2 etcd-0", aborts: true},
		{name: "not stopped", host: "etcd-1", stage: simulator.LostBack, abort: simulator.LostThere, staged: "etcd-1", told: true, aborts: true},
		{name: "the last", host: "etcd-0", stage: simulator.LostBack, abort: simulator.LostThere, staged: "etcd-1 etcd-2 etcd-0", told: true, aborts: true},
		{name: "not governed", host: "etcd-1", stage: simulator.LostBack, abort: simulator.LostThere, staged: "etcd-1 etcd-2 etcd-0", aborts: true, change: func(s *simulator.Site) {
			s.Inventory.Clusters[0].NotGoverned = true
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(simulator.Fleet(3, 1))
				if c.change != nil {
					c.change(site)
				}
				slowStage(site, 20*time.Minute)
				b := site.Bastion("run-1")
				b.Fault = func(call simulator.Call) simulator.Fault {
					switch {
					case call.Host == c.host && call.Verb == "stage":
						return c.stage
					case call.Host == c.host && call.Verb == "abort":
						return c.abort
					}
					return simulator.NoFault
				}
				b.Latency = func(call simulator.Call) time.Duration {
					if call.Host == c.host && call.Verb == "abort" {
						return c.stops / 2
					}
					return 0
				}
				failOnErrors(t, checkEnd(applyRun(b, runSerially, func(r *rollout.Run) { r.BestEffort = true }), engine.ExitFailed))
				if got := strings.Join(stagedMembers(b), " "); got != c.staged {
					t.Errorf("staged %q, want %q", got, c.staged)
				}
				if told := strings.Contains(failureMessage(b, c.host), "its staging may still run, at its last safe pace"); told != c.told {
					t.Errorf("the run says %q", failureMessage(b, c.host))
				}
				if containsVerb(b.Calls(), "abort") != c.aborts {
					t.Errorf("the run tries to stop it: %t", !c.aborts)
				}
			})
		})
	}
}

// TestLostStagingOfAnEarlierPlay checks that the run stages no host of a later play beside a staging that may still run near
// the same cluster.
func TestLostStagingOfAnEarlierPlay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 1))
		for i := range site.Inventory.Hosts {
			if h := &site.Inventory.Hosts[i]; h.Pool == "worker" {
				h.NearCluster = "main"
			}
		}
		slowStage(site, 5*time.Minute)
		b := site.Bastion("run-1")
		b.Fault = func(call simulator.Call) simulator.Fault {
			switch {
			case call.Host == "etcd-0" && call.Verb == "stage":
				return simulator.LostBack
			case call.Host == "etcd-0" && call.Verb == "abort":
				return simulator.LostThere
			}
			return simulator.NoFault
		}
		pool := func(name string) func(engine.Host) bool { return func(h engine.Host) bool { return h.Pool == name } }
		end := applyRun(b, runSerially, func(r *rollout.Run) {
			r.BestEffort = true
			r.Plays = []rollout.Play{
				{Play: engine.Play{Name: "members"}, Modules: r.Modules, Selected: pool("etcd")},
				{Play: engine.Play{Name: "workers"}, Modules: r.Modules, Selected: pool("worker")},
			}
		})
		failOnErrors(t, checkEnd(end, engine.ExitFailed))
		for _, c := range b.Calls() {
			if c.Verb == "stage" && c.Host == "worker-0" {
				t.Fatal("worker-0 was staged")
			}
		}
	})
}

// TestUnreachableHostIsNoLostStaging checks that a member that was not reached when its turn to be staged came does not
// end the run with --best-effort: nothing runs on it.
func TestUnreachableHostIsNoLostStaging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 0))
		slowStage(site, 5*time.Minute)
		b := site.Bastion("run-1")
		time.AfterFunc(time.Minute, site.Host("etcd-2").Cut)
		failOnErrors(t, checkEnd(applyRun(b, runSerially, func(r *rollout.Run) { r.BestEffort = true }), engine.ExitFailed))
		if got := strings.Join(stagedMembers(b), " "); got != "etcd-1 etcd-0" {
			t.Errorf("staged %q", got)
		}
		if message := failureMessage(b, "etcd-2"); message != "it was not disrupted and is not held" || containsVerb(b.Calls(), "abort") {
			t.Errorf("the run says %q", message)
		}
	})
}

// TestUnreachableHostWithADeadRunsStaging checks a member that a dead run is still staging, and that cannot be reached when
// its turn comes: the run ends, also with --best-effort, because it cannot slow that staging.
func TestUnreachableHostWithADeadRunsStaging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 0))
		slowStage(site, 30*time.Minute)
		first := site.Bastion("run-1")
		time.AfterFunc(time.Minute, first.Kill)
		applyRun(first, runSerially)
		second := site.Bastion("run-2")
		time.AfterFunc(5*time.Second, site.Host("etcd-1").Cut) // while the idle latency is measured
		failOnErrors(t, checkEnd(applyRun(second, runSerially, func(r *rollout.Run) { r.BestEffort = true }), engine.ExitFailed))
		if staged := stagedMembers(second); len(staged) > 0 {
			t.Errorf("staged %q", staged)
		}
	})
}

// stagedMembers returns the members that a run has staged, each once, in order.
func stagedMembers(b *simulator.Bastion) (hosts []string) {
	for _, c := range b.Calls() {
		if c.Verb == "stage" && strings.HasPrefix(c.Host, "etcd") && !slices.Contains(hosts, c.Host) {
			hosts = append(hosts, c.Host)
		}
	}
	return hosts
}

func failureMessage(b *simulator.Bastion, host string) (message string) {
	for _, e := range b.Events() {
		if e.Type == event.HostFailed && e.Host == host {
			message = e.Message
		}
	}
	return message
}

func containsVerb(calls []simulator.Call, verb string) bool {
	for _, c := range calls {
		if c.Verb == verb {
			return true
		}
	}
	return false
}

// TestGovernorWithoutMetrics checks that hosts are staged at a fixed pace, with
// a warning, if no member serves metrics.
func TestGovernorWithoutMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 0))
		b := site.Bastion("run-1")
		failOnErrors(t, checkEnd(applyRun(b, runSerially, func(r *rollout.Run) { r.Clusters = silentClusters{r.Clusters} }), engine.ExitOK), checkConverged(site))
		warnings := 0
		for _, e := range b.Events() {
			if e.Type == event.Warned && strings.Contains(e.Message, "connection refused") {
				warnings++
			}
		}
		if warnings != 1 {
			t.Errorf("%d warnings", warnings)
		}
		events := governorEvents(b, "etcd-1")
		if statesOf(events) != "free fixed ended" || events[2].FixedFor == 0 || events[2].SlowedFor > 0 {
			t.Errorf("%+v", events)
		}
	})
}

// TestMemberWithoutMetrics checks that a member that does not answer before the
// first staging, such as one that is switched off, does not stop the stagings of
// the others. The run warns, and stages at a slow pace at most.
func TestMemberWithoutMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 0))
		slowStage(site, 8*time.Minute)
		b := site.Bastion("run-1")
		silent := func(r *rollout.Run) { r.Clusters = silentMember{r.Clusters, "etcd-2"} }
		failOnErrors(t, checkEnd(applyRun(b, runSerially, silent), engine.ExitOK), checkConverged(site))
		var warnings []string
		for _, e := range b.Events() {
			if e.Type == event.Warned {
				warnings = append(warnings, e.Message)
			}
		}
		if len(warnings) != 1 || !strings.Contains(warnings[0], "the disk latency of etcd-2 is not known (connection refused)") {
			t.Errorf("warnings %q", warnings)
		}
		for _, host := range []string{"etcd-0", "etcd-2"} {
			events := governorEvents(b, host)
			if statesOf(events) != "free slowed ended" || events[1].MemberHost != "etcd-2" || events[1].Metric != "" || events[1].Pace.Pause < engine.Duration(80*time.Millisecond) || events[2].SlowedFor < engine.Duration(7*time.Minute) {
				t.Errorf("%s: %+v", host, events)
			}
		}
	})
}

// TestStagingOfADeadRunIsNotIdle checks that a run does not take the latency for
// idle that the staging of a dead run causes, as it would raise the limits.
func TestStagingOfADeadRunIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 0))
		slowStage(site, 4*time.Minute)
		first := site.Bastion("run-1")
		first.Disk = func(string, time.Time) float64 { return 0.002 }
		time.AfterFunc(time.Minute, first.Kill)
		applyRun(first, runSerially)
		second := site.Bastion("run-2")
		dead := time.Now().Add(3 * time.Minute)
		second.Disk = func(_ string, at time.Time) float64 {
			if at.Before(dead) {
				return 0.018
			}
			return 0.002
		}
		failOnErrors(t, checkEnd(applyRun(second, runSerially), engine.ExitOK), checkConverged(site))
		var warnings []string
		for _, e := range second.Events() {
			if e.Type == event.Warned {
				warnings = append(warnings, e.Message)
			}
		}
		if len(warnings) != 1 || !strings.Contains(warnings[0], "an earlier run is still staging etcd-1;") {
			t.Errorf("warnings %q", warnings)
		}
		var idles []float64
		for _, e := range governorEvents(second, "") {
			if e.Metric == engine.WALFsync && e.Limit > 0 && e.P99 > e.Limit && e.Limit != engine.Duration(10*time.Millisecond) {
				t.Errorf("%+v", e)
			}
			if e.State == engine.GovernorEnded {
				for _, m := range e.Members {
					idles = append(idles, m.Idle.WALFsyncP99Seconds)
				}
			}
		}
		// The first of three stagings has no idle latency; the others have the one after it.
		if !slices.Equal(idles, []float64{0, 0, 0, 0.002, 0.002, 0.002, 0.002, 0.002, 0.002}) {
			t.Errorf("idle %v", idles)
		}
		if events := governorEvents(second, "etcd-1"); len(events) < 3 || events[1].State != engine.GovernorSlowed {
			t.Errorf("etcd-1: %+v", events)
		}
	})
}

// TestGovernorSwitchedOff checks that governor = false lets a slow member have no
// effect on the staging, and that the run does not measure the idle latency.
func TestGovernorSwitchedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 1))
		site.Inventory.Clusters[0].NotGoverned = true
		b := site.Bastion("run-1")
		b.Disk = func(string, time.Time) float64 { return 0.2 }
		scrapes := 0
		failOnErrors(t, checkEnd(applyRun(b, runSerially, func(r *rollout.Run) { r.Clusters = countedScrapes{r.Clusters, &scrapes} }), engine.ExitOK), checkConverged(site))
		if events := governorEvents(b, ""); len(events) > 0 || scrapes > 0 {
			t.Errorf("%d scrapes, events %+v", scrapes, events)
		}
		for _, host := range []string{"etcd-0", "etcd-1", "etcd-2"} {
			if paces := site.Host(host).Paces(); len(paces) > 0 {
				t.Errorf("%s was sent %d paces", host, len(paces))
			}
		}
	})
}

// TestLostPaceIsSentAgain checks that a pace that does not arrive is sent again
// with the next sample.
func TestLostPaceIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 0))
		slowStage(site, time.Minute)
		b := site.Bastion("run-1")
		n := 0
		b.Fault = func(c simulator.Call) simulator.Fault {
			if c.Verb == "pace" {
				if n++; n%2 == 1 {
					return simulator.LostThere
				}
			}
			return simulator.NoFault
		}
		failOnErrors(t, checkEnd(applyRun(b, runSerially), engine.ExitOK), checkConverged(site))
		if paces := site.Host("etcd-1").Paces(); len(paces) < 10 {
			t.Errorf("%d paces arrived", len(paces))
		}
	})
}

// silentClusters serve no metrics.
type silentClusters struct{ rollout.Clusters }

func (silentClusters) ScrapeMembers(context.Context, string) []governor.Scrape {
	return []governor.Scrape{{Host: "etcd-0", Problem: "connection refused"}, {Host: "etcd-1", Problem: "connection refused"}, {Host: "etcd-2", Problem: "connection refused"}}
}

// silentMember is one member that serves no metrics.
type silentMember struct {
	rollout.Clusters
	host string
}

func (c silentMember) ScrapeMembers(ctx context.Context, cluster string) []governor.Scrape {
	scrapes := c.Clusters.ScrapeMembers(ctx, cluster)
	for i, s := range scrapes {
		if s.Host == c.host {
			scrapes[i] = governor.Scrape{Host: s.Host, Problem: "connection refused"}
		}
	}
	return scrapes
}

// countedScrapes counts the scrapes of metrics.
type countedScrapes struct {
	rollout.Clusters
	scrapes *int
}

func (c countedScrapes) ScrapeMembers(ctx context.Context, cluster string) []governor.Scrape {
	*c.scrapes++
	return c.Clusters.ScrapeMembers(ctx, cluster)
}
