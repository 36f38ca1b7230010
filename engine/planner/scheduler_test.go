package planner_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/longtest"
	"holdfast/engine/planner"
)

func planBatches(w *world) [][]string {
	var out [][]string
	for _, b := range planner.NewPlan(w.input()).Batches {
		out = append(out, b.Hosts)
	}
	return out
}

// The batches of small sites, which a person can check, show the order of
// preference.
func TestBatches(t *testing.T) {
	reboot := func(name, pool, cluster, zone string) *machine {
		return &machine{name: name, pool: pool, cluster: cluster, zone: zone, work: "reboot"}
	}
	two := engine.CountOrPercent{Count: 2}
	for _, tc := range []struct {
		name  string
		world world
		want  [][]string
	}{
		{"nothing to do", world{pools: []engine.Pool{{Name: "w"}}, hosts: []*machine{{name: "a", pool: "w"}}}, nil},
		{
			"by name, whatever the inventory's order",
			world{pools: []engine.Pool{{Name: "w", MaxUnavailable: two}}, hosts: []*machine{reboot("c", "w", "", ""), reboot("a", "w", "", ""), reboot("b", "w", "", "")}},
			[][]string{{"a", "b"}, {"c"}},
		},
		{
			"one zone after the other",
			world{pools: []engine.Pool{{Name: "w", MaxUnavailable: two}}, hosts: []*machine{reboot("a", "w", "", "z2"), reboot("b", "w", "", "z1"), reboot("c", "w", "", "z2"), reboot("d", "w", "", "z1"), reboot("e", "w", "", "z1")}},
			[][]string{{"b", "d"}, {"e"}, {"a", "c"}},
		},
		{
			"pools side by side, each within its own budget and zone",
			world{pools: []engine.Pool{{Name: "w"}, {Name: "v", MaxUnavailable: two}}, hosts: []*machine{reboot("a", "v", "", "z1"), reboot("b", "v", "", "z1"), reboot("c", "w", "", "z2"), reboot("d", "w", "", "z3")}},
			[][]string{{"c", "a", "b"}, {"d"}},
		},
		{
			"the leader last, and one member at a time",
			world{
				pools: []engine.Pool{{Name: "e", MaxUnavailable: engine.CountOrPercent{Count: 3}}}, clusters: map[string]*etcd{"m": {leader: "a"}},
				hosts: []*machine{reboot("a", "e", "m", "z1"), reboot("b", "e", "m", "z2"), reboot("c", "e", "m", "z3")},
			},
			[][]string{{"b"}, {"c"}, {"a"}},
		},
		{
			"the leader waits for a member of another pool",
			world{
				pools: []engine.Pool{{Name: "e"}, {Name: "f"}}, clusters: map[string]*etcd{"m": {leader: "a"}},
				hosts: []*machine{reboot("a", "e", "m", ""), reboot("b", "f", "m", ""), reboot("c", "f", "m", ""), reboot("x", "e", "", "")},
			},
			[][]string{{"x", "b"}, {"c"}, {"a"}},
		},
		{
			"but not for one whose pool waits for the leader's",
			world{
				pools: []engine.Pool{{Name: "e"}, {Name: "f", After: []string{"e"}}}, clusters: map[string]*etcd{"m": {leader: "a"}},
				hosts: []*machine{reboot("a", "e", "m", ""), reboot("b", "f", "m", ""), {name: "c", pool: "e", cluster: "m"}},
			},
			[][]string{{"a"}, {"b"}},
		},
		{
			"two clusters side by side",
			world{
				pools: []engine.Pool{{Name: "e", MaxUnavailable: two}}, clusters: map[string]*etcd{"m": {leader: "a"}, "n": {leader: "f"}},
				hosts: []*machine{
					reboot("a", "e", "m", ""), reboot("b", "e", "m", ""), reboot("c", "e", "m", ""),
					reboot("d", "e", "n", ""), reboot("e", "e", "n", ""), reboot("f", "e", "n", ""),
				},
			},
			[][]string{{"b", "d"}, {"c", "e"}, {"a", "f"}},
		},
		{
			"the sick member first, where the operator says so",
			world{
				pools: []engine.Pool{{Name: "e"}}, clusters: map[string]*etcd{"m": {leader: "a"}}, repair: []string{"c"},
				hosts: []*machine{reboot("a", "e", "m", ""), reboot("b", "e", "m", ""), {name: "c", pool: "e", cluster: "m", work: "reboot", sick: true}},
			},
			[][]string{{"c"}, {"b"}, {"a"}},
		},
		{
			"what a dead run left comes first and alone",
			world{
				pools: []engine.Pool{{Name: "w", MaxUnavailable: two}, {Name: "v"}},
				hosts: []*machine{reboot("a", "w", "", ""), {name: "b", pool: "w", hold: "dead"}, {name: "c", pool: "w", hold: "dead", work: "reboot"}, reboot("d", "v", "", "")},
			},
			[][]string{{"b", "c"}, {"a", "d"}},
		},
		{
			"one that cannot be brought back yet counts for the others",
			world{
				pools: []engine.Pool{{Name: "e"}, {Name: "f"}}, clusters: map[string]*etcd{"m": {}},
				hosts: []*machine{{name: "a", pool: "e", cluster: "m", hold: "dead", work: "reboot"}, {name: "b", pool: "f", cluster: "m", hold: "foreign"}, {name: "c", pool: "f", cluster: "m"}, reboot("x", "e", "", "")},
			},
			nil,
		},
		{
			"what is not disrupted needs no seat, and goes first",
			world{pools: []engine.Pool{{Name: "w"}}, hosts: []*machine{reboot("a", "w", "", ""), reboot("b", "w", "", ""), {name: "c", pool: "w", work: "quiet", zone: "z"}, {name: "d", pool: "w", work: "quiet"}}},
			[][]string{{"d", "c"}, {"a"}, {"b"}},
		},
		{
			"the order holds through a pool without work",
			world{
				pools: []engine.Pool{{Name: "c", After: []string{"b"}}, {Name: "b", After: []string{"a"}}, {Name: "a"}},
				hosts: []*machine{reboot("1", "c", "", ""), {name: "2", pool: "b"}, reboot("3", "a", "", "")},
			},
			[][]string{{"3"}, {"1"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulateApply(t, &tc.world)
			if got := planBatches(&tc.world); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// Gates are asked once for each pool of a batch. They are not asked before
// hosts that are only recovered, because these hosts may be the reason for a
// bad answer.
func TestBatchGates(t *testing.T) {
	gate := func(name string) []engine.Gate {
		return []engine.Gate{{Name: name, Command: "true", When: []engine.GateWhen{engine.BeforeBatch, engine.AfterBatch}}}
	}
	w := &world{
		pools: []engine.Pool{{Name: "v", Gates: gate("v"), MaxUnavailable: engine.CountOrPercent{Count: 2}}, {Name: "w", Gates: gate("w")}},
		hosts: []*machine{
			{name: "a", pool: "v", hold: "dead"},
			{name: "b", pool: "w", hold: "dead", work: "reboot"},
			{name: "c", pool: "v", work: "reboot"},
			{name: "d", pool: "v", work: "reboot"},
		},
	}
	var got []string
	for _, b := range planner.NewPlan(w.input()).Batches {
		got = append(got, fmt.Sprint(b.Pools, b.Hosts, stepNames(b.Before), stepNames(b.After)))
	}
	want := []string{"[v w] [a b] [gate w] [gate v gate w]", "[v] [c d] [gate v] [gate v]"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func stepNames(steps []engine.Step) []string {
	var names []string
	for _, s := range steps {
		names = append(names, s.Name)
	}
	return names
}

// Batches use up the budgets: no plan has more batches than it needs.
func TestBatchesAreFull(t *testing.T) {
	t.Parallel()
	for n := 1; n <= longtest.Choose(20, 40, 40); n++ {
		for limit := 1; limit <= n; limit++ {
			w := &world{pools: []engine.Pool{{Name: "worker", MaxUnavailable: engine.CountOrPercent{Count: limit}}}}
			for i := range n {
				m := worker(i)
				m.work = "reboot"
				w.hosts = append(w.hosts, m)
			}
			if got, want := len(planBatches(w)), (n+limit-1)/limit; got != want {
				t.Fatalf("%d hosts, %d at a time: %d batches, want %d", n, limit, got, want)
			}
		}
	}
}

// Every exclusion names the obstacle.
func TestReasons(t *testing.T) {
	ordered := []engine.Pool{{Name: "etcd"}, {Name: "worker", After: []string{"etcd"}}}
	main := map[string]*etcd{"main": {}}
	held := func(m *machine) *machine { m.hold = "foreign"; return m }
	lost := func(m *machine) *machine { m.lost = true; return m }
	works := func(m *machine) *machine { m.work = "reboot"; return m }
	sick := func(m *machine) *machine { m.sick = true; return m }
	for _, tc := range []struct {
		name  string
		world world
		want  string
	}{
		{"a pool that is waited for", world{pools: ordered, clusters: main, hosts: []*machine{held(member(0)), works(worker(0))}}, "worker-0 blocked: pool worker comes after pool etcd, where etcd-0 is held"},
		{"a pool that waits itself", world{pools: append(ordered, engine.Pool{Name: "last", After: []string{"worker"}}), hosts: []*machine{lost(&machine{name: "a", pool: "etcd"}), works(worker(0)), works(&machine{name: "z", pool: "last"})}}, "z blocked: pool last comes after pool worker, where worker-0 is not updated"},
		{"budget", world{pools: ordered, hosts: []*machine{lost(worker(1)), works(worker(0))}}, "worker-0 blocked: pool worker: max_unavailable is 1 and 1 of its hosts are unavailable already: worker-1 is unreachable"},
		{"budget, many", world{pools: ordered, hosts: []*machine{lost(worker(1)), held(worker(2)), lost(worker(3)), lost(worker(4)), lost(worker(5)), works(worker(0))}}, "worker-0 blocked: pool worker: max_unavailable is 1 and 5 of its hosts are unavailable already: worker-1 is unreachable, worker-2 is held, worker-3 is unreachable, and 2 more"},
		{"a cluster that somebody holds", world{pools: ordered, clusters: main, hosts: []*machine{works(member(0)), member(1), held(member(2))}}, "etcd-0 held: etcd cluster main: member etcd-2 is away: its host is unreachable, held or being disrupted"},
		{"a sick member", world{pools: ordered, clusters: main, hosts: []*machine{works(member(0)), member(1), sick(member(2))}}, "refused: etcd cluster main: member etcd-2 is not healthy: "},
		{"a member whose host is down", world{pools: ordered, clusters: main, hosts: []*machine{works(member(0)), member(1), lost(member(2)), works(worker(0))}}, "refused: etcd cluster main: member etcd-2 is away: its host is unreachable, held or being disrupted"},
		{"a sick member, and others could go on", world{pools: []engine.Pool{{Name: "etcd"}, {Name: "worker"}}, clusters: main, hosts: []*machine{works(member(0)), member(1), sick(member(2)), works(worker(0))}}, "refused: etcd cluster main: member etcd-2 is not healthy: "},
		{"a cluster nobody looked at", world{pools: ordered, clusters: map[string]*etcd{"main": {unknown: true}}, hosts: []*machine{works(member(0))}}, "refused: etcd cluster main: not observed"},
		{"not understood", world{pools: ordered, hosts: []*machine{{name: "a", pool: "worker", work: "unclear"}}}, "a unclear: fake: two deployments are booted"},
		{"unreachable", world{pools: ordered, hosts: []*machine{lost(worker(0))}}, "worker-0 unreachable: connection refused"},
		{"held", world{pools: ordered, hosts: []*machine{held(worker(0))}}, "worker-0 held: held by ann@b1 since 2026-03-01 11:59 UTC for \"update\", until 2026-03-01 12:00 UTC"},
		{"maintenance", world{pools: ordered, hosts: []*machine{{name: "a", pool: "worker", hold: "maintenance"}}}, "a held: held by ann@b1 since 2026-03-01 11:59 UTC for \"update\", until 2026-03-01 11:59 UTC; it has expired, and still stands: holdfast release a ends it"},
		{"a hold that cannot be read", world{pools: ordered, hosts: []*machine{{name: "a", pool: "worker", hold: "unreadable"}}}, "a held: its hold cannot be read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := planner.NewPlan(tc.world.input())
			var said []string
			for _, r := range p.Refusals {
				said = append(said, "refused: "+r)
			}
			for _, x := range p.Excluded {
				said = append(said, fmt.Sprintf("%s %s: %s", x.Host, x.Kind, x.Reason))
			}
			if got := strings.Join(said, "\n"); !strings.Contains("\n"+got+"\n", "\n"+tc.want+"\n") {
				t.Errorf("got\n%s\nwant among it\n%s", got, tc.want)
			}
			if strings.HasPrefix(tc.want, "refused") && (len(p.Batches) > 0 || p.Verdict().Exit != engine.ExitFailed) {
				t.Errorf("refused, and yet batches %v and exit %d", p.Batches, p.Verdict().Exit)
			}
		})
	}
}

// Large fleets of every composition, with several clusters whose members are
// spread over pools, zones, percentages and orders.
func TestFleets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := tryApply(anyFleet(t)); err != nil {
			t.Fatal(err)
		}
	})
}

func anyFleet(t *rapid.T) *world {
	w := &world{clusters: map[string]*etcd{}, site: rapid.SampledFrom([]engine.CountOrPercent{{}, {}, {Count: 2, Set: true}, {Percent: 10, Set: true}}).Draw(t, "site")}
	pools := rapid.IntRange(1, 6).Draw(t, "pools")
	for i := range pools {
		p := engine.Pool{Name: fmt.Sprint("pool-", i), MaxUnavailable: rapid.SampledFrom([]engine.CountOrPercent{{}, {Count: 1}, {Count: 2}, {Count: 5}, {Percent: 10}, {Percent: 50}, {Percent: 100}}).Draw(t, "limit")}
		for j := range i {
			if rapid.IntRange(0, 3).Draw(t, "after") == 0 {
				p.After = append(p.After, fmt.Sprint("pool-", j))
			}
		}
		p.FailureBudget = rapid.SampledFrom([]engine.CountOrPercent{{}, {}, {Count: 1}, {Count: 3}, {Percent: 20}}).Draw(t, "failure_budget")
		if n := rapid.IntRange(-2, 3).Draw(t, "canaries"); n > 0 {
			p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: n}, Soak: engine.Duration(rapid.IntRange(0, 1).Draw(t, "soak"))}
		}
		p.Windows = rapid.SampledFrom([][]engine.Window{nil, nil, nil, {open}, {closed}}).Draw(t, "window")
		w.pools = append([]engine.Pool{p}, w.pools...)
	}
	// Most hosts of a fleet are healthy; otherwise every plan would be refused.
	odds := rapid.SampledFrom([]int{0, 5, 30}).Draw(t, "odds")
	for c := range rapid.IntRange(0, 5).Draw(t, "clusters") {
		name := fmt.Sprint("cluster-", c)
		voters := rapid.IntRange(1, 7).Draw(t, "voters")
		leader := rapid.IntRange(0, voters-1).Draw(t, "leader")
		w.clusters[name] = &etcd{leader: fmt.Sprintf("%s-%d", name, leader), learner: isRare(t, odds), alarm: isRare(t, odds), allowOutage: isRare(t, 100-odds)}
		for i := range voters {
			w.hosts = append(w.hosts, anyMachine(t, &machine{name: fmt.Sprintf("%s-%d", name, i), cluster: name}, pools, odds))
		}
	}
	for i := range rapid.IntRange(0, 60).Draw(t, "workers") {
		w.hosts = append(w.hosts, anyMachine(t, worker(i), pools, odds))
	}
	return w
}

func isRare(t *rapid.T, percent int) bool {
	return rapid.IntRange(0, 99).Draw(t, "odds") < percent
}

func anyMachine(t *rapid.T, m *machine, pools, odds int) *machine {
	m.pool = fmt.Sprint("pool-", rapid.IntRange(0, pools-1).Draw(t, "pool"))
	m.zone = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "zone")
	state := machine{work: rapid.SampledFrom([]string{"", "reboot", "reboot", "reboot", "restart", "quiet"}).Draw(t, "work")}
	if isRare(t, odds) {
		any := slices.Concat(states, nodeStates)
		state = any[rapid.IntRange(0, len(any)-1).Draw(t, "state")]
		state.paused = isRare(t, odds)
		state.rejected = isRare(t, odds) && !state.leftOver() // such a host is only recovered; TestAHostThatWasRolledBackAndIsHeld tests that
		if isRare(t, odds) && (state.hold == "" || state.hold == "own") {
			state.failed = true
		}
	}
	return m.in(state)
}
