package rollout_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// TestQuorumBeforeEachAction: another member fails during the first action on a member. The second action, which could cost
// the cluster its quorum, does not begin.
func TestQuorumBeforeEachAction(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			site := siteWanting(3, 0, "none-1")
			site.Want("etcd-1", "reload-restart-2")
			s := failureWorld{Site: site, run: site.Bastion("run-1")}
			if fails {
				s.doAtStep("etcd-1", "reload app.service", site.Host("etcd-2").StopEtcd)
			}
			end := applyRun(s.run, runSerially)
			restarted := slices.ContainsFunc(s.run.Events(), func(e event.Event) bool {
				return e.Type == event.StepStarted && strings.HasPrefix(e.Step, string(engine.RestartUnit))
			})
			exit := map[bool]engine.ExitCode{false: engine.ExitOK, true: engine.ExitFailed}[fails]
			if err := checkEnd(end, exit); err != nil || restarted == fails {
				t.Errorf("%v, restarted %v\n%s", err, restarted, runTranscript(s.run))
			}
			failOnErrors(t, checkLaws(site))
		})
	}
}

// TestNoRebootOnAnOldQuorumCheck: the bastion is suspended between the quorum check and the order to reboot. If another member
// fails meanwhile, the order is not sent, and the host is released unchanged.
func TestNoRebootOnAnOldQuorumCheck(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			site := newSite(simulator.Fleet(3, 0))
			b := site.Bastion("run-1")
			var clock suspendedClock
			synced := false
			b.Watch = func(e event.Event) {
				synced = synced || e.Type == event.StepEnded && e.Step == "sync disks" && e.Host == "etcd-1"
				if !synced || e.Type != event.StepEnded || e.Step != "check quorum" || e.Host != "etcd-1" || clock.slept.Load() != 0 {
					return
				}
				clock.slept.Store(int64(10 * time.Minute))
				if fails {
					site.Host("etcd-2").StopEtcd()
				}
			}
			end := applyRun(b, runSerially, func(r *rollout.Run) { clock.Clock, r.Clock = r.Clock, &clock })
			exit := map[bool]engine.ExitCode{false: engine.ExitOK, true: engine.ExitFailed}[fails]
			rebooted := slices.ContainsFunc(b.Events(), func(e event.Event) bool { return e.Host == "etcd-1" && e.Step == "wait for boot" })
			if err := checkEnd(end, exit); err != nil || rebooted == fails || clock.slept.Load() == 0 {
				t.Errorf("%v, rebooted %v\n%s", err, rebooted, runTranscript(b))
			}
			failOnErrors(t, checkFree(site.Host("etcd-1")), checkLaws(site))
		})
	}
}

// TestNoRebootOnOldFactsOfAQuorumCheck: the bastion is suspended within the quorum check before the order to reboot, after it has read
// the cluster. If another member fails meanwhile, the order is not sent. It is not sent either if each check is suspended.
func TestNoRebootOnOldFactsOfAQuorumCheck(t *testing.T) {
	for name, c := range map[string]struct {
		fails, always bool
		exit          engine.ExitCode
	}{"once": {exit: engine.ExitOK}, "another member fails": {fails: true, exit: engine.ExitFailed}, "each time": {always: true, exit: engine.ExitFailed}} {
		synctest.Test(t, func(t *testing.T) {
			site := newSite(simulator.Fleet(3, 0))
			b := site.Bastion("run-1")
			var clock suspendedClock
			synced, checking := false, false
			b.Watch = func(e event.Event) {
				synced = synced || e.Type == event.StepEnded && e.Step == "sync disks" && e.Host == "etcd-1"
				checking = checking || synced && e.Type == event.StepStarted && e.Step == "check quorum" && e.Host == "etcd-1"
				if !checking || e.Type != event.EtcdSampled || clock.slept.Load() != 0 && !c.always {
					return
				}
				clock.slept.Add(int64(time.Minute))
				if c.fails {
					site.Host("etcd-2").StopEtcd()
				}
			}
			end := applyRun(b, runSerially, func(r *rollout.Run) { clock.Clock, r.Clock = r.Clock, &clock })
			rebooted := slices.ContainsFunc(b.Events(), func(e event.Event) bool { return e.Host == "etcd-1" && e.Step == "wait for boot" })
			if err := checkEnd(end, c.exit); err != nil || rebooted != (c.exit == engine.ExitOK) || clock.slept.Load() == 0 {
				t.Errorf("%s: %v, rebooted %v\n%s", name, err, rebooted, runTranscript(b))
			}
			failOnErrors(t, checkFree(site.Host("etcd-1")), checkLaws(site))
		})
	}
}

// slowProbes delays the probes of a host, up to their timeout.
type slowProbes struct {
	rollout.Hosts
	host  string
	delay time.Duration
}

func (h slowProbes) Connect(ctx context.Context, to engine.Host) (rollout.Conn, error) {
	conn, err := h.Hosts.Connect(ctx, to)
	if err == nil && to.Name == h.host {
		conn = slowProbeConn{conn, h.delay}
	}
	return conn, err
}

type slowProbeConn struct {
	rollout.Conn
	delay time.Duration
}

func (c slowProbeConn) Run(ctx context.Context, s rollout.Script) (rollout.Reply, error) {
	if s.Purpose == rollout.ProbeScript {
		limited, cancel := context.WithTimeout(ctx, s.Timeout)
		defer cancel()
		select {
		case <-time.After(c.delay):
		case <-limited.Done():
			return rollout.Reply{}, context.Cause(limited)
		}
	}
	return c.Conn.Run(ctx, s)
}

// lateClusters takes its time to gather clusters.
type lateClusters struct {
	rollout.Clusters
	delay time.Duration
}

func (c lateClusters) Gather(ctx context.Context, cluster string) etcdfacts.ClusterFacts {
	f := c.Clusters.Gather(ctx, cluster)
	select {
	case <-time.After(c.delay):
		return f
	case <-ctx.Done():
		return etcdfacts.ClusterFacts{Name: cluster, Problem: ctx.Err().Error()}
	}
}

// TestSlowQuorumChecks: members are updated although each check of their quorum takes longer than its facts are valid afterwards.
func TestSlowQuorumChecks(t *testing.T) {
	for name, change := range map[string]func(*rollout.Run){
		"a host without a voter does not answer": func(r *rollout.Run) { r.Hosts = slowProbes{r.Hosts, "worker-0", time.Hour} },
		"a host without a voter is slow":         func(r *rollout.Run) { r.Hosts = slowProbes{r.Hosts, "worker-0", 40 * time.Second} },
		"a member is slow":                       func(r *rollout.Run) { r.Hosts = slowProbes{r.Hosts, "etcd-2", 28 * time.Second} },
		"etcd is slow": func(r *rollout.Run) {
			r.Inventory.Clusters[0].Timeout = engine.Duration(time.Minute)
			r.Clusters = lateClusters{r.Clusters, 40 * time.Second}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(simulator.Fleet(3, 1))
				b := site.Bastion("run-1")
				end := applyRun(b, runSerially, func(r *rollout.Run) {
					r.Inventory.Hosts = slices.Clone(r.Inventory.Hosts)
					i := slices.IndexFunc(r.Inventory.Hosts, func(h engine.Host) bool { return h.Name == "worker-0" })
					r.Inventory.Hosts[i].Cluster, r.Inventory.Hosts[i].Retired = "main", true
					r.Inventory.Clusters = slices.Clone(r.Inventory.Clusters)
					r.Selected = func(h engine.Host) bool { return h.Name != "worker-0" }
					change(r)
				})
				if err := errors.Join(checkUpdated(site.Host("etcd-0")), checkUpdated(site.Host("etcd-1")), checkUpdated(site.Host("etcd-2")), checkLaws(site)); err != nil {
					t.Errorf("%v, %v\n%s", end, err, runTranscript(b))
				}
			})
		})
	}
}

// stoppedClusters stops the whole run for a while after it has read a cluster.
type stoppedClusters struct {
	rollout.Clusters
	stop func() time.Duration
}

func (c stoppedClusters) Gather(ctx context.Context, cluster string) etcdfacts.ClusterFacts {
	f := c.Clusters.Gather(ctx, cluster)
	time.Sleep(c.stop())
	return f
}

// TestNoRebootAfterAStop: the process is stopped within the quorum check before the order to reboot, and another member fails meanwhile.
// The monotonic clock goes on, and the order is not sent all the same.
func TestNoRebootAfterAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 0))
		b := site.Bastion("run-1")
		synced, stopped := false, false
		b.Watch = func(e event.Event) {
			synced = synced || e.Type == event.StepEnded && e.Step == "sync disks" && e.Host == "etcd-1"
		}
		end := applyRun(b, runSerially, func(r *rollout.Run) {
			r.Clusters = stoppedClusters{r.Clusters, func() time.Duration {
				if !synced || stopped {
					return 0
				}
				stopped = true
				site.Host("etcd-2").StopEtcd()
				return 10 * time.Minute
			}}
		})
		rebooted := slices.ContainsFunc(b.Events(), func(e event.Event) bool { return e.Host == "etcd-1" && e.Step == "wait for boot" })
		if err := checkEnd(end, engine.ExitFailed); err != nil || rebooted || !stopped {
			t.Errorf("%v, rebooted %v, stopped %v\n%s", err, rebooted, stopped, runTranscript(b))
		}
		failOnErrors(t, checkLaws(site))
	})
}

// TestNoBatchFromAPlanBeforeASuspend: the bastion is suspended while the operator is asked, until the window is over. The run plans
// again before it disrupts a host.
func TestNoBatchFromAPlanBeforeASuspend(t *testing.T) {
	for _, slept := range []time.Duration{0, 10 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			site := siteWanting(0, 2, "none-1")
			site.Want("worker-1", "reload-restart-2")
			b := site.Bastion("run-1")
			var clock suspendedClock
			end := applyRun(b, runSerially, func(r *rollout.Run) {
				clock.Clock, r.Clock = r.Clock, &clock
				now := clock.Now().UTC()
				minutes := now.Hour()*60 + now.Minute()
				for i := range r.Inventory.Pools {
					r.Inventory.Pools[i].Windows = []engine.Window{{FromMinutes: minutes, ToMinutes: (minutes + 8*60) % (24 * 60)}}
				}
				r.Approve = func(context.Context, engine.Plan) error {
					clock.slept.Store(int64(slept))
					return nil
				}
			})
			begun := slices.ContainsFunc(b.Events(), func(e event.Event) bool { return e.Type == event.BatchStarted })
			if begun != (slept == 0) {
				t.Errorf("suspended %s: a batch began: %v, %v\n%s", slept, begun, end, runTranscript(b))
			}
		})
	}
}

// TestNoRollbackBecauseOfTheQuorum: the bastion is suspended before a disruptive task on the new OS, and another member fails
// meanwhile. The task does not begin, which tells nothing about the OS, so no rollback begins.
func TestNoRollbackBecauseOfTheQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(goesBack(3, 0))
		b := site.Bastion("run-1")
		var clock suspendedClock
		var host *simulator.Host
		b.Watch = func(e event.Event) {
			if host == nil && e.Type == event.StepEnded && e.Step == "check quorum" && site.Host(e.Host).State().Booted == simulator.V2 {
				host = site.Host(e.Host)
				clock.slept.Store(int64(10 * time.Minute))
				site.Host(map[bool]string{false: "etcd-2", true: "etcd-0"}[e.Host == "etcd-2"]).StopEtcd()
			}
		}
		restart := engine.Task{Name: "restart", Module: engine.CommandTaskName, Command: &engine.CommandTask{Command: "true", Disrupts: true}}
		play := engine.Play{Tasks: []engine.Task{matchingTask(engine.FinalizeTask)}, PostTasks: []engine.Task{restart}}
		end := applyRun(b, runSerially, withPlay(play, simulator.Module()), func(r *rollout.Run) { clock.Clock, r.Clock = r.Clock, &clock })
		if host == nil {
			t.Fatal(runTranscript(b))
		}
		told := slices.ContainsFunc(b.Events(), func(e event.Event) bool {
			return e.Type == event.Warned && strings.Contains(e.Message, "rolled back")
		})
		if err := checkEnd(end, engine.ExitFailed, host.Name+": restart: "); err != nil || told || host.State().Booted != simulator.V2 {
			t.Errorf("%v, tells of a rollback: %v\n%s", err, told, runTranscript(b))
		}
		failOnErrors(t, checkHeldFor(host, b.ID, "is not healthy"), checkLaws(site))
	})
}

// suspendedClock is the clock of a bastion that was suspended: its monotonic clock stood still meanwhile.
type suspendedClock struct {
	rollout.Clock
	slept atomic.Int64 // nanoseconds
}

// monotonicNow has a monotonic reading, which the times in a bubble of testing/synctest lack, and whole seconds.
var monotonicNow = func(now time.Time) time.Time { return now.Add(-time.Duration(now.Nanosecond())) }(time.Now())

// Now returns the time with a monotonic reading, which does not count the time of the suspend.
func (c *suspendedClock) Now() time.Time {
	bubble := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	now := monotonicNow.Add(c.Clock.Now().Sub(bubble))
	shift := bubble.Add(time.Duration(c.slept.Load())).Unix() - monotonicNow.Unix()
	*(*uint64)(unsafe.Pointer(&now)) += uint64(shift) << 30 // the field wall of a time.Time, whose seconds begin at bit 30
	return now
}
