package rollout_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// While a run waits before a batch, a worker is lost. The budget of its pool is
// one host, so the run disrupts no other host.
func TestLostBeforeTheBatch(t *testing.T) {
	const long = 4 * time.Minute
	for name, waits := range map[string]func(*simulator.Bastion, *rollout.Run, func()){
		"operator": func(_ *simulator.Bastion, r *rollout.Run, lose func()) {
			r.Approve = func(context.Context, engine.Plan) error {
				time.Sleep(long)
				lose()
				return nil
			}
		},
		"gate": func(b *simulator.Bastion, _ *rollout.Run, lose func()) {
			b.Takes = func(c simulator.Command) time.Duration {
				if c.Text != "ready" {
					return 0
				}
				lose()
				return long
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := simulator.Fleet(0, 3)
				if name == "gate" {
					addGate(1, "ready", engine.BeforeBatch)(&inv)
				}
				site := newSite(inv)
				for _, h := range site.Hosts() {
					h.Change(func(t *simulator.Traits) { t.Stage = 0 })
				}
				stopWhenStaged(t, site)
				b := site.Bastion("run-1")
				end := applyRun(b, func(r *rollout.Run) { waits(b, r, site.Host("worker-2").PowerOff) })
				failOnErrors(t, checkEnd(end, engine.ExitUnreachable, "worker-2 is unreachable"), checkLaws(site),
					checkUntouched(site.Host("worker-0")), checkUntouched(site.Host("worker-1")))
			})
		})
	}
}

// stopWhenStaged ends a run when everything is staged.
func stopWhenStaged(t *testing.T, site *simulator.Site) {
	t.Helper()
	b := site.Bastion("run-staged")
	b.Watch = func(e event.Event) {
		if e.Type == event.StageEnded {
			b.Kill()
		}
	}
	applyRun(b, runSerially)
	for _, h := range site.Hosts() {
		if st := h.State(); st.Staged != simulator.V2 {
			t.Fatalf("%s is not staged: %+v", h.Name, st)
		}
	}
}

// The snapshot of etcd takes long. Meanwhile, after the checks of all holds and
// of the cluster, a member becomes unhealthy.
func TestIllDuringSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 0))
		b := site.Bastion("run-1")
		b.Latency = func(c simulator.Call) time.Duration {
			if c.Verb != "snapshot" {
				return 0
			}
			site.Host("etcd-2").StopEtcd()
			return time.Minute
		}
		site.Host("etcd-2").Boot(simulator.V2)
		end := applyRun(b)
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "not safe to go on", "etcd-2"), checkLaws(site), checkUntouched(site.Host("etcd-0")), checkUntouched(site.Host("etcd-1")))
		for _, c := range b.Calls() {
			if c.Verb == "hold" {
				t.Errorf("%s was held", c.Host)
			}
		}
	})
}

// A host that the approved plan excludes becomes available. The run leaves it
// to the next run.
func TestComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := simulator.Fleet(0, 3)
		twoAtOnce(&inv)
		site := newSite(inv)
		site.Host("worker-0").Cut()
		site.After(time.Minute, site.Host("worker-0").Heal)
		end := applyRun(site.Bastion("run-1"))
		failOnErrors(t, checkEnd(end, engine.ExitUnreachable, "worker-0"), checkLaws(site), checkUntouched(site.Host("worker-0")),
			checkUpdated(site.Host("worker-1")), checkUpdated(site.Host("worker-2")),
			checkEnd(applyRun(site.Bastion("run-2")), engine.ExitOK), checkConverged(site))
	})
}

// TestDawn checks a host that answers before it knows its booted OS.
func TestDawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 1))
		for _, h := range site.Hosts() {
			h.Change(func(t *simulator.Traits) { t.Dawn = 8 * time.Second })
		}
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-1")), engine.ExitOK), checkConverged(site))
	})
}
