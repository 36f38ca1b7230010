package planner_test

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/planner"
	"holdfast/engine/planner/approval"
)

// A plan is a value: the same facts make the same plan, byte for byte. The
// planner changes none of its inputs, and a plan can be saved and read again.
func TestPlanIsAValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := anyFleet(t)
		in, untouched := w.input(), w.input()
		p := planner.NewPlan(in)
		text := encodePlan(t, p)
		in.Selected, untouched.Selected = nil, nil // functions cannot be compared
		if !reflect.DeepEqual(in, untouched) {
			t.Fatal("the input was changed")
		}
		for range 3 {
			if again := encodePlan(t, planner.NewPlan(w.input())); again != text {
				t.Fatalf("planned again:\n%s\nnot\n%s", again, text)
			}
		}
		var back engine.Plan
		if err := json.Unmarshal([]byte(text), &back); err != nil {
			t.Fatal(err)
		}
		if read := encodePlan(t, back); read != text {
			t.Fatalf("saved and read:\n%s\nnot\n%s", read, text)
		}
		if err := approval.CheckApproved(back, p); err != nil {
			t.Fatal(err)
		}
	})
}

func encodePlan(t interface{ Fatal(...any) }, p engine.Plan) string {
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The order in which an inventory names hosts changes no batch.
func TestPlanIgnoresInventoryOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyFleet(t)
		shuffled := w.clone()
		rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed"))).Shuffle(len(shuffled.hosts), func(i, j int) {
			shuffled.hosts[i], shuffled.hosts[j] = shuffled.hosts[j], shuffled.hosts[i]
		})
		a, b := planner.NewPlan(w.input()), planner.NewPlan(shuffled.input())
		if !reflect.DeepEqual(a.Batches, b.Batches) {
			t.Fatalf("batches %v and %v", a.Batches, b.Batches)
		}
	})
}

// Without work there is no plan, whatever the state of the clusters.
func TestPlanOfMatchingFleet(t *testing.T) {
	w := etcdWorld([]*machine{member(0), member(1), member(2)}, 1)
	w.clusters["main"].unknown = true
	if p := planner.NewPlan(w.input()); !p.Empty() || p.Verdict().Exit != engine.ExitOK || len(p.Matching) != 3 || p.Total != 3 {
		t.Errorf("%+v", p)
	}
}

func TestWarnings(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "worker"}}}
	for i, s := range []machine{
		{hold: "maintenance"},
		{hold: "expired", work: "reboot"},
		{hold: "dead"},
		{hold: "own"},
		{hold: "dead", ignored: true},
		{hold: "foreign", ignored: true},
		{lost: true, ignored: true},
		{work: "reboot", ignored: true},
		{work: "unclear", ignored: true},
		{work: "unclear", hold: "expired"},
		{hold: "foreign"},
		{lost: true},
	} {
		w.hosts = append(w.hosts, worker(i).in(s))
	}
	const hold = `held by ann@b1 since 2026-03-01 11:59 UTC for "update", until 2026-03-01 `
	want := []string{
		"worker-1: the hold of run run-of-somebody has expired, and this run adopts it: " + hold + "11:59 UTC",
		"worker-2: run run-dead ended and left its hold; this run adopts it: " + hold + "12:00 UTC",
		"worker-3: this run holds it already, and takes it up again: " + hold + "12:00 UTC",
		"worker-4 counts as unavailable: run run-dead left its hold there, and this run does not adopt it: " + hold + "12:00 UTC",
		"worker-5 is outside the limit and counts as unavailable: " + hold + "12:00 UTC",
		"worker-6 is outside the limit and counts as unavailable: connection refused",
		"worker-9 counts as unavailable: run run-of-somebody left its hold there, and this run does not adopt it: " + hold + "11:59 UTC",
		"pool worker: 1 host outside the limit does not match, either; later pools do not wait for that",
	}
	if got := planner.NewPlan(w.input()).Warnings; !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The step that takes the hold names the hold that the plan adopts. Without
// such a hold it names none.
func TestAdoptedHolds(t *testing.T) {
	for hold, want := range map[string]string{"": "", "dead": deadRun, "expired": "run-of-somebody", "own": thisRun} {
		for _, work := range []string{"reboot", "quiet", ""} {
			w := &world{pools: []engine.Pool{{Name: "worker"}}, hosts: []*machine{worker(0).in(machine{hold: hold, work: work})}}
			hp := planner.NewPlan(w.input()).Host("worker-0")
			if hp == nil {
				if hold+work != "" {
					t.Errorf("hold %q, work %q: no plan", hold, work)
				}
				continue
			}
			first, last := hp.Sequence[0].Do.TakeHold, hp.Sequence[len(hp.Sequence)-1].Do.Release
			if hp.Adopt != want || first == nil || first.Adopt != want || last == nil {
				t.Errorf("hold %q, work %q: adopts %q, %+v", hold, work, hp.Adopt, first)
			}
		}
	}
}

func TestSnapshots(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "etcd"}}, clusters: map[string]*etcd{"a": {}, "b": {}, "c": {}, "d": {}}}
	for name, work := range map[string]string{"a": "reboot", "b": "quiet", "c": "reboot", "d": "reboot"} {
		for _, n := range []string{"0", "1", "2"} {
			w.hosts = append(w.hosts, &machine{name: name + n, pool: "etcd", cluster: name, work: work})
		}
	}
	in := w.input()
	in.Inventory.Clusters[2].NoSnapshot = true
	in.Saved = map[string]struct{}{"d": {}}
	p := planner.NewPlan(in)
	if len(p.Before) != 1 || p.Before[0].On != "a" || p.Before[0].Do.Snapshot.Cluster != "a" {
		t.Errorf("%+v", p.Before)
	}
}

func TestClustersAtWork(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "etcd"}}, clusters: map[string]*etcd{"a": {}, "b": {}, "c": {}, "d": {}}}
	for name, s := range map[string]machine{"a": {work: "reboot"}, "b": {hold: "dead"}, "c": {}, "d": {work: "reboot", ignored: true}} {
		w.hosts = append(w.hosts, (&machine{name: name + "0", pool: "etcd", cluster: name}).in(s))
	}
	got := planner.NewSurvey(w.input()).ClustersAtWork()
	slices.Sort(got)
	if !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v", got)
	}
	in := w.input()
	in.Selected = nil
	if got := planner.NewSurvey(in).ClustersAtWork(); len(got) != 3 {
		t.Errorf("%v without a limit", got)
	}
}

func TestPlanExit(t *testing.T) {
	batch := []engine.Batch{{Hosts: []string{"a"}}}
	out := func(whys ...engine.ExclusionKind) []engine.Exclusion {
		var list []engine.Exclusion
		for _, w := range whys {
			list = append(list, engine.Exclusion{Host: "x", Kind: w})
		}
		return list
	}
	for _, tc := range []struct {
		name string
		plan engine.Plan
		want engine.ExitCode
	}{
		{"nothing to do", engine.Plan{}, 0},
		{"work", engine.Plan{Batches: batch}, 2},
		{"work, and some left out", engine.Plan{Batches: batch, Excluded: out(engine.Held, engine.Unreachable, engine.Blocked)}, 2},
		{"refused", engine.Plan{Refusals: []string{"x"}}, 3},
		{"refused, and held", engine.Plan{Refusals: []string{"x"}, Excluded: out(engine.Held)}, 3},
		{"a host that is not understood", engine.Plan{Batches: batch, Excluded: out(engine.Unclear)}, 3},
		{"only held", engine.Plan{Excluded: out(engine.Held)}, 4},
		{"held and unreachable", engine.Plan{Excluded: out(engine.Unreachable, engine.Held, engine.Blocked)}, 4},
		{"only unreachable", engine.Plan{Excluded: out(engine.Unreachable)}, 5},
		{"unreachable, and blocked by it", engine.Plan{Excluded: out(engine.Blocked, engine.Unreachable)}, 5},
		{"only blocked", engine.Plan{Excluded: out(engine.Blocked)}, 3},
		{"only blocked by a hold", engine.Plan{Excluded: []engine.Exclusion{{Host: "x", Kind: engine.Blocked, WaitsForHold: true}}}, 4},
	} {
		if got := tc.plan.Verdict().Exit; got != tc.want {
			t.Errorf("%s: exit %d, want %d", tc.name, got, tc.want)
		}
	}
}

// TestBlockedByAHold checks that hosts that wait only for a hold have exit code 4, whether the held host is within the limit or not: a
// person asked for it. The approved plan keeps this.
func TestBlockedByAHold(t *testing.T) {
	pool, site := engine.CountOrPercent{Count: 1, Set: true}, engine.CountOrPercent{Count: 1, Set: true}
	for name, c := range map[string]struct {
		first      machine
		pool, site engine.CountOrPercent
		want       engine.ExitCode
	}{
		"a person holds it":       {machine{hold: "maintenance", ignored: true}, pool, engine.CountOrPercent{}, engine.ExitRefused},
		"within the limit":        {machine{hold: "maintenance"}, pool, engine.CountOrPercent{}, engine.ExitRefused},
		"another run holds it":    {machine{hold: "foreign", ignored: true}, pool, engine.CountOrPercent{}, engine.ExitRefused},
		"the budget of the site":  {machine{hold: "maintenance", ignored: true}, engine.CountOrPercent{Count: 5}, site, engine.ExitRefused},
		"nobody holds it":         {machine{lost: true, ignored: true}, pool, engine.CountOrPercent{}, engine.ExitFailed},
		"it is not the only host": {machine{hold: "maintenance", ignored: true}, engine.CountOrPercent{Count: 2}, engine.CountOrPercent{}, engine.ExitWork},
	} {
		w := &world{pools: []engine.Pool{{Name: "worker", MaxUnavailable: c.pool}}, site: c.site}
		for i, state := range []machine{c.first, {work: "reboot"}} {
			m := worker(i)
			w.hosts = append(w.hosts, m.in(state))
		}
		p := planner.NewPlan(w.input())
		if got := p.Verdict().Exit; got != c.want {
			t.Errorf("%s: exit %d, want %d: %+v", name, got, c.want, p.Excluded)
		}
		in := w.input()
		in.Approved = &p
		if again := planner.NewPlan(in); again.Verdict().Exit != c.want {
			t.Errorf("%s: exit %d with the approved plan, want %d: %+v", name, again.Verdict().Exit, c.want, again.Excluded)
		}
	}
}

func TestCheck(t *testing.T) {
	file := func(after string, actions ...engine.ActionType) engine.Change {
		c := engine.Change{Module: "file", Resource: "/etc/x", Before: "1", After: after}
		for _, a := range actions {
			c.Actions = append(c.Actions, engine.Action{Type: a, Unit: unitOf(a)})
		}
		return c
	}
	plan := func(host string, changes ...engine.Change) engine.Plan {
		hp := engine.HostPlan{Host: host, Changes: changes}
		for _, c := range changes {
			hp.Actions = append(hp.Actions, c.Actions...)
		}
		return engine.Plan{Hosts: []engine.HostPlan{hp}}
	}
	other := engine.Change{Module: "file", Resource: "/etc/y", After: "2"}
	approved := plan("a", file("2", engine.ReloadUnit), other)
	for _, tc := range []struct {
		name          string
		now, approved engine.Plan
		ok            bool
	}{
		{"the same", approved, approved, true},
		{"all done", engine.Plan{}, approved, true},
		{"in part done", plan("a", other), approved, true},
		{"the host is where it was in between", plan("a", engine.Change{Module: "file", Resource: "/etc/y", Before: "0", After: "2"}), approved, true},
		{"another host", plan("b", other), approved, false},
		{"another resource", plan("a", engine.Change{Module: "file", Resource: "/etc/z", After: "2"}), approved, false},
		{"another module", plan("a", engine.Change{Module: "unit", Resource: "/etc/y", After: "2"}), approved, false},
		{"another content", plan("a", file("3", engine.ReloadUnit)), approved, false},
		{"the same content, but it takes a drain now", plan("a", file("2", engine.DrainAction, engine.ReloadUnit)), approved, false},
		{"the same content, but it takes a reboot now", plan("a", file("2", engine.DrainAction, engine.RebootAction)), approved, false},
		{"the same content, and it takes less now", plan("a", file("2", engine.NoAction)), approved, true},
		{"a reload that the reboot was to stand for", plan("a", file("2", engine.ReloadUnit)), plan("a", file("2", engine.DrainAction, engine.RebootAction)), true},
		{"a drain that was not", plan("a", file("2", engine.DrainAction)), plan("a", file("2", engine.RebootAction)), false},
		{"nothing was approved", plan("a", other), engine.Plan{}, false},
	} {
		err := approval.CheckApproved(tc.now, tc.approved)
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
		if err != nil && (!strings.Contains(err.Error(), tc.now.Hosts[0].Host+": ") || !strings.HasSuffix(err.Error(), "plan again")) {
			t.Errorf("%s: says %v", tc.name, err)
		}
	}
}

func unitOf(a engine.ActionType) string {
	if a == engine.ReloadUnit || a == engine.RestartUnit {
		return "crio.service"
	}
	return ""
}

// During a run, excluded hosts may become available: holds end or expire,
// cables are plugged in, members recover. The run still does exactly the
// approved work. Only a host that turns out to have failed can stop it, if its
// pool's failure budget is then exceeded.
func TestHostsThatComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyFleet(t)
		before := w.clone()
		approved := planner.NewPlan(w.input())
		want, done := map[string]int{}, map[string]int{}
		for _, b := range approved.Batches {
			for _, h := range b.Hosts {
				want[h] = 1
			}
		}
		for p := approved; len(p.Batches) > 0 && len(done) <= len(w.hosts); {
			if err := w.findViolation(p.Batches[0].Hosts...); err != nil {
				t.Fatal(err)
			}
			for _, h := range p.Batches[0].Hosts {
				done[h]++
			}
			w.updateMachines(p.Batches[0].Hosts...)
			for _, m := range w.hosts {
				comeBack(t, m)
			}
			in := w.input()
			in.Approved = &approved
			p = planner.NewPlan(in)
			if err := approval.CheckApproved(p, approved); err != nil {
				t.Fatal(err)
			}
			if len(p.Refusals) > 0 {
				t.Fatalf("refused half way: %v", p.Refusals)
			}
		}
		turned := slices.ContainsFunc(w.pools, func(p engine.Pool) bool { return w.exceedsFailureBudget(p) && !before.exceedsFailureBudget(p) })
		for h := range want {
			if done[h] == 0 && turned && w.findViolation(h) != nil {
				delete(want, h)
			}
		}
		if !reflect.DeepEqual(done, want) {
			t.Fatalf("worked on %v, approved %v\nin %s", done, want, w)
		}
	})
}

// A host whose state was not understood at the approval, and is understood
// later, has not failed.
func TestUnderstoodHostIsNoFailure(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "worker", FailureBudget: engine.CountOrPercent{Set: true, Count: 1}, MaxUnavailable: engine.CountOrPercent{Set: true, Count: 2}}}, hosts: []*machine{
		worker(0).in(machine{work: "unclear"}), worker(1).in(machine{hold: "foreign", work: "reboot", rejected: true}), worker(2).in(machine{work: "reboot"}),
	}}
	approved := planner.NewPlan(w.input())
	w.hosts[0].work, w.hosts[1].hold = "reboot", ""
	in := w.input()
	in.Approved = &approved
	if p := planner.NewPlan(in); len(p.Batches) != 1 || p.Batches[0].Hosts[0] != "worker-2" {
		t.Errorf("%+v", p)
	}
	w.hosts[0].work = "unclear"
	in = w.input()
	in.Approved = &approved
	if p := planner.NewPlan(in); len(p.Batches) != 0 {
		t.Errorf("two have failed: %+v", p)
	}
}

func comeBack(t *rapid.T, m *machine) {
	if !rapid.Bool().Draw(t, "comes back") {
		return
	}
	m.lost, m.sick = false, false
	if m.hold == "foreign" || m.hold == "maintenance" {
		m.hold = rapid.SampledFrom([]string{"", "expired"}).Draw(t, "hold")
	}
	if m.work == "unclear" {
		m.work = "reboot"
	}
}

func TestLeftOutStaysOut(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "worker"}}, hosts: []*machine{
		worker(0).in(machine{lost: true, work: "reboot"}), worker(1).in(machine{hold: "foreign"}), worker(2).in(machine{work: "unclear"}),
	}}
	approved := planner.NewPlan(w.input())
	for _, m := range w.hosts {
		m.lost, m.hold, m.work = false, "", "reboot"
	}
	w.hosts[1].work = ""
	in := w.input()
	in.Approved = &approved
	p := planner.NewPlan(in)
	const reason = "the approved plan leaves it out; the next run takes it"
	want := []engine.Exclusion{{Host: "worker-0", Kind: engine.Unreachable, Reason: reason}, {Host: "worker-2", Kind: engine.Unclear, Reason: reason}}
	if !reflect.DeepEqual(p.Excluded, want) || len(p.Hosts) > 0 || !slices.Equal(p.Matching, []string{"worker-1"}) {
		t.Errorf("%+v", p)
	}
	if p := planner.NewPlan(w.input()); len(p.Batches) != 2 {
		t.Errorf("the next run: %+v", p)
	}
}
