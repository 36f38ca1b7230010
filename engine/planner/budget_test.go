package planner_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// rebootingWorkers returns a pool of workers that need a reboot.
func rebootingWorkers(hosts, limit int) *world {
	w := &world{pools: []engine.Pool{{Name: "worker", MaxUnavailable: engine.CountOrPercent{Count: limit, Set: true}}}, clusters: map[string]*etcd{}}
	for i := range hosts {
		m := worker(i)
		m.pool, m.work = "worker", "reboot"
		w.hosts = append(w.hosts, m)
	}
	return w
}

// A host checks its budgets if other hosts could use them up.
func TestWhoChecksTheBudget(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		checks bool
	}{
		"three of which one may go": {func(*world) {}, true},
		"all may go":                {func(w *world) { w.pools[0].MaxUnavailable = engine.CountOrPercent{Percent: 100, Set: true} }, false},
		"it is alone":               {func(w *world) { w.hosts = w.hosts[:1] }, false},
		"alone, with a budget of the site": {func(w *world) {
			w.hosts[1].pool, w.hosts[2].pool = "other", "other"
			w.pools = append(w.pools, engine.Pool{Name: "other"})
			w.site = engine.CountOrPercent{Count: 2, Set: true}
		}, true},
		"a restart":                    {func(w *world) { w.hosts[0].work = "restart" }, true},
		"nothing that disrupts":        {func(w *world) { w.hosts[0].work = "quiet" }, false},
		"taken over, and held so long": {func(w *world) { w.hosts[0].hold = "dead" }, false},
		"held by this run":             {func(w *world) { w.hosts[0].hold = "own" }, false},
		"members of one cluster": {func(w *world) {
			w.clusters["main"] = &etcd{leader: w.hosts[2].name}
			for _, m := range w.hosts {
				m.cluster = "main"
			}
		}, false},
		"a member among others": {func(w *world) {
			w.clusters["main"] = &etcd{leader: w.hosts[0].name, allowOutage: true}
			w.hosts[0].cluster = "main"
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := rebootingWorkers(3, 1)
			c.change(w)
			plan := planner.NewPlan(w.input())
			var steps []string
			for _, s := range plan.Host(w.hosts[0].name).Sequence {
				steps = append(steps, s.Name)
			}
			at := slices.Index(steps, "check budget")
			if got := at >= 0; got != c.checks {
				t.Fatalf("its steps are %v", steps)
			}
			if hold := slices.Index(steps, "hold"); at >= 0 && at > hold+2 {
				t.Errorf("others may be disrupted before it asks: %v", steps)
			}
		})
	}
}

// The error of a host whose budgets others have used up names the hosts that
// are held or lost.
func TestBudgetExceeded(t *testing.T) {
	held := func(kind engine.HoldKind) func(*engine.Facts) {
		return func(f *engine.Facts) {
			f.Hold = &engine.Hold{Kind: kind, Holder: "bob@b2", Run: "run-bob", Reason: "os", Acquired: now}
		}
	}
	lost := func(f *engine.Facts) { f.Unreachable = "no route to host" }
	garbled := func(f *engine.Facts) { f.HoldProblem = "it is not a hold" }
	for name, c := range map[string]struct {
		limit  int
		others []func(*engine.Facts)
		held   bool
		words  []string // empty: the budgets have room
	}{
		"nothing has changed":    {limit: 2},
		"more than may be away":  {limit: 1},
		"one, and there is room": {limit: 3, others: []func(*engine.Facts){held(engine.RunHold)}},
		"another run": {2, []func(*engine.Facts){held(engine.RunHold)}, true, []string{
			"max_unavailable of pool worker is 2, and 3 of its hosts would be unavailable", "worker-2 is held by bob@b2 since 2026-03-01 12:00 UTC",
		}},
		"a person":          {2, []func(*engine.Facts){held(engine.MaintenanceHold)}, true, []string{"worker-2 is held by bob@b2"}},
		"a hold that is no": {2, []func(*engine.Facts){garbled}, true, []string{"worker-2 is held (it is not a hold)"}},
		"lost":              {2, []func(*engine.Facts){lost}, false, []string{"worker-2 cannot be reached (no route to host)"}},
		"many": {2, []func(*engine.Facts){lost, lost, held(engine.RunHold), lost}, true, []string{
			"6 of its hosts", "worker-4 is held by bob@b2", "worker-2 cannot", "worker-3 cannot", "and 1 more",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			in := rebootingWorkers(6, c.limit).input()
			plan := planner.NewPlan(in)
			plan.Batches[0].Hosts = []string{"worker-0", "worker-1"}
			b := planner.NewBudgets(in.Inventory, in.Facts, plan)
			var seen []engine.Facts
			for i, h := range b.UncountedHosts() {
				f := engine.Facts{Host: h.Name}
				if i < len(c.others) {
					c.others[i](&f)
				}
				seen = append(seen, f)
			}
			cause, isHeld := b.Exceeded("worker", seen)
			if isHeld != c.held || (cause == "") != (len(c.words) == 0) {
				t.Fatalf("held %v: %q", isHeld, cause)
			}
			for _, words := range c.words {
				if !strings.Contains(cause, words) {
					t.Errorf("%q does not say %q", cause, words)
				}
			}
		})
	}
}

// TestBudgetOfCordonedHosts: two runs that each begin a host with a cordoned node see each other, because such a host still runs its pods.
func TestBudgetOfCordonedHosts(t *testing.T) {
	for name, c := range map[string]struct {
		limit int
		now   func(*machine)
		fits  bool
	}{
		"nothing has changed":        {1, func(*machine) {}, true},
		"the other is held by a run": {1, func(m *machine) { m.hold = "foreign" }, false},
		"the other is lost":          {1, func(m *machine) { m.lost = true }, false},
		"and there is room for both": {2, func(m *machine) { m.hold = "foreign" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := rebootingWorkers(3, c.limit)
			w.hosts[0].node, w.hosts[1].node, w.hosts[2].work = "cordoned", "cordoned", ""
			in := w.input()
			plan := planner.NewPlan(in)
			plan.Batches[0].Hosts = []string{"worker-0"}
			b := planner.NewBudgets(in.Inventory, in.Facts, plan)
			c.now(w.hosts[1])
			var seen []engine.Facts
			for _, h := range b.UncountedHosts() {
				f := w.machine(h.Name).facts()
				f.Node = nil // only holds are read again
				seen = append(seen, f)
			}
			if cause, _ := b.Exceeded("worker", seen); (cause == "") != c.fits {
				t.Errorf("%q", cause)
			}
		})
	}
}

// Whatever happens to other hosts while a batch begins, a host of the batch may
// go if and only if the rules of the world allow it. If nothing has changed,
// the host may always go.
func TestBudgetsFollowTheWorld(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := anyFleet(rt)
		in := w.input()
		plan := planner.NewPlan(in)
		if len(plan.Batches) == 0 {
			return
		}
		batch := plan.Batches[0].Hosts
		b := planner.NewBudgets(in.Inventory, in.Facts, plan)
		others := b.UncountedHosts()
		odds := rapid.SampledFrom([]int{0, 3, 30}).Draw(rt, "odds of what becomes of others")
		var changed []*machine
		for _, m := range w.hosts {
			disrupted := slices.Contains(batch, m.name) && m.disrupts()
			if m.isTaken() || disrupted || !isRare(rt, odds) {
				continue
			}
			if rapid.Bool().Draw(rt, "lost") {
				m.lost = true
			} else {
				m.hold = rapid.SampledFrom([]string{"foreign", "maintenance", "unreadable"}).Draw(rt, "hold")
			}
			changed = append(changed, m)
		}
		var seen []engine.Facts
		for _, h := range others {
			f := w.machine(h.Name).facts()
			f.Node = nil // only holds are read again
			seen = append(seen, f)
		}
		for _, name := range batch {
			m := w.machine(name)
			if !m.disrupts() || m.leftOver() || m.node == "not-ready" {
				continue
			}
			cause, _ := b.Exceeded(m.pool, seen)
			if err := w.roomFor(m, changed, batch); (cause == "") != (err == nil) {
				rt.Fatalf("%s of %v, where %d others have changed, is told %q, and the world says %v\n%s", name, batch, len(changed), cause, err, w)
			}
		}
	})
}

// roomFor returns an error if a budget has no room for the batch any more. It
// checks only the budgets of hosts that have changed.
func (w *world) roomFor(m *machine, changed []*machine, batch []string) error {
	p := w.pool(m.pool)
	if slices.ContainsFunc(changed, func(o *machine) bool { return o.pool == p.Name }) {
		if err := w.keepsBudget("pool "+p.Name, p.MaxUnavailable, batch, func(o *machine) bool { return o.pool == p.Name }); err != nil {
			return err
		}
	}
	if w.site.Set && len(changed) > 0 {
		return w.keepsBudget("the site", w.site, batch, func(*machine) bool { return true })
	}
	return nil
}
