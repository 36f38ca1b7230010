package rollout_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// tampered is the module of settings with one defect.
type tampered struct {
	facts   func(*engine.Facts)
	actions []engine.Action
	target  func(*engine.Target)
	steps   func(*engine.Steps)
	changes func(*engine.Change)
}

func (m tampered) tamperFacts(f engine.Facts) engine.Facts {
	if m.facts != nil && f.Config != nil && f.Config.Applied != nil && f.Config.Applied.Unfinished != nil {
		m.facts(&f)
	}
	return f
}

func (m tampered) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	x, err := simulator.Settings().Changes.Diff(d, m.tamperFacts(f))
	for i := range x.Changes {
		if m.changes != nil {
			m.changes(&x.Changes[i])
		}
		if m.actions != nil {
			x.Changes[i].Actions = m.actions
		}
	}
	planSteps := x.Steps
	x.Steps = func(t engine.Target, changes []engine.Change) engine.Steps {
		t.Facts = m.tamperFacts(t.Facts)
		if m.target != nil {
			m.target(&t)
		}
		s := planSteps(t, changes)
		if m.steps != nil {
			m.steps(&s)
		}
		return s
	}
	return x, err
}

func (m tampered) installInto(r *rollout.Run) {
	r.Modules = []engine.Module{simulator.Module(), {Name: "settings", Changes: m}}
}

// TestSettingLawsBite makes a run break each law about settings, and checks
// that the violation is found.
func TestSettingLawsBite(t *testing.T) {
	noAction := []engine.Action{{Type: engine.NoAction}}
	restart := []engine.Action{{Type: engine.RestartUnit, Unit: "app.service"}}
	for name, c := range map[string]struct {
		word     string
		sabotage func(*simulator.Site, *rollout.Run)
		broken   string
	}{
		"no hold": {"reboot-2", func(_ *simulator.Site, r *rollout.Run) {
			tampered{actions: noAction}.installInto(r)
		}, "worker-0 gets reboot-2 without a hold"},
		"no drain": {"drain-restart-2", func(_ *simulator.Site, r *rollout.Run) {
			tampered{actions: restart}.installInto(r)
		}, "worker-0 gets drain-restart-2 and is not drained"},
		"untrue record": {"restart-2", func(_ *simulator.Site, r *rollout.Run) {
			tampered{steps: func(s *engine.Steps) { s.Act = nil }}.installInto(r)
		}, "worker-0 has none-1 in effect, and gets restart-2 on record"},
		"journal": {"reload-2", func(_ *simulator.Site, r *rollout.Run) {
			r.Sink = lateSink{r.Sink}
		}, "write of worker-0 is not in the journal"},
		"reported drift": {"reload-2", func(s *simulator.Site, r *rollout.Run) {
			s.Host("worker-0").Set("reload-2")
			s.Host("worker-0").Edit("mine")
			d := r.Desired["worker-0"]
			d.ReportDrift = false
			r.Desired["worker-0"] = d
		}, "drift is only to be reported"},
		"somebody else's": {"reload-2", func(s *simulator.Site, r *rollout.Run) {
			tampered{target: func(t *engine.Target) { t.Run = "run-9" }}.installInto(r)
			r.Approve = func(context.Context, engine.Plan) error {
				s.Host("worker-0").SetHold(byBob())
				return nil
			}
		}, "worker-0 is changed while somebody else holds it"},
		"another hold": {"restart-2", func(s *simulator.Site, r *rollout.Run) {
			tampered{target: func(t *engine.Target) { t.Run = "run-9" }}.installInto(r)
			r.Hosts = swappingHosts{r.Hosts, s.Host("worker-0")}
		}, "worker-0 is changed without a hold of that run"},
		"second fallback": {"reload-2", func(s *simulator.Site, r *rollout.Run) {
			s.Host("worker-0").Change(actFails)
			m := tampered{
				facts: func(f *engine.Facts) {
					a, u := *f.Config.Applied, *f.Config.Applied.Unfinished
					u.Boot = f.BootID
					a.Unfinished = &u
					c := *f.Config
					c.Applied, f.Config = &a, &c
				},
				steps: func(s *engine.Steps) { s.Record = nil },
			}
			first := s.Bastion("run-0")
			applyRun(first, m.installInto)
			m.installInto(r)
			successorOf(first)(r)
		}, "worker-0 is rebooted once more"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := noOS(simulator.Fleet(0, 1))
				if name == "reported drift" {
					inv.Pools[1].Drift = engine.ReportDrift
				}
				site := wantingOf(inv, c.word)
				applyRun(site.Bastion("run-1"), func(r *rollout.Run) { c.sabotage(site, r) })
				for _, v := range site.Violations() {
					if strings.Contains(v, c.broken) {
						return
					}
				}
				t.Errorf("no law was broken that says %q: %v", c.broken, site.Violations())
			})
		})
	}
}

// swappingHosts have another hold before each write.
type swappingHosts struct {
	rollout.Hosts
	host *simulator.Host
}

func (h swappingHosts) Connect(ctx context.Context, host engine.Host) (rollout.Conn, error) {
	c, err := h.Hosts.Connect(ctx, host)
	return swappingConn{c, h.host}, err
}

type swappingConn struct {
	rollout.Conn
	host *simulator.Host
}

func (c swappingConn) Run(ctx context.Context, s rollout.Script) (rollout.Reply, error) {
	if simulator.VerbOf(s) == "write" {
		c.host.SetHold(byBob())
	}
	return c.Conn.Run(ctx, s)
}
