package planner_test

import (
	"fmt"
	"testing"

	"holdfast/engine"
	"holdfast/engine/longtest"
)

// etcdWorld returns a world with one cluster in one pool.
func etcdWorld(members []*machine, limit int) *world {
	return &world{
		pools:    []engine.Pool{{Name: "etcd", MaxUnavailable: engine.CountOrPercent{Count: limit, Set: true}}},
		clusters: map[string]*etcd{"main": {leader: members[0].name}},
		hosts:    members,
	}
}

// The test combines every subset of sick members with every subset of members
// with work, for every size. For the largest clusters it tries the members
// other than the leader in one order only, unless all worlds are tried.
func TestClusterSickAndWork(t *testing.T) {
	t.Parallel()
	for n := 1; n <= longtest.Choose(5, 7, 7); n++ {
		t.Run(fmt.Sprintf("voters=%d", n), func(t *testing.T) {
			for bits := range 1 << (2 * n) {
				if n > 5 && !longtest.On() && !isInOrder(bits, n) {
					continue
				}
				for _, limit := range limitsFor(n) {
					var members []*machine
					for i := range n {
						m := member(i)
						m.sick = bits>>i&1 == 1
						if bits>>(n+i)&1 == 1 {
							m.work = "reboot"
						}
						members = append(members, m)
					}
					simulateApply(t, etcdWorld(members, limit))
				}
			}
		})
	}
}

// isInOrder reports whether all members except the first, the leader, are
// sorted by their work and health.
func isInOrder(bits, n int) bool {
	last := 0
	for i := 1; i < n; i++ {
		state := 2*(bits>>(n+i)&1) + bits>>i&1
		if state < last {
			return false
		}
		last = state
	}
	return true
}

// limitsFor returns the limits 1 and n. For the largest clusters it returns
// only n, where nothing but the quorum limits the batches.
func limitsFor(n int) []int {
	if n > 5 {
		return []int{n}
	}
	return []int{1, n}
}

// states lists the states of one host that differ for the planner.
var states = []machine{
	{},
	{work: "reboot"},
	{work: "quiet"},
	{work: "restart"},
	{work: "unclear"},
	{work: "reboot", sick: true},
	{sick: true},
	{work: "reboot", hold: "foreign"},
	{hold: "maintenance", sick: true},
	{work: "reboot", hold: "dead"},
	{work: "reboot", hold: "dead", sick: true},
	{hold: "expired"},
	{lost: true},
	{lost: true, sick: true},
	{work: "reboot", ignored: true},
	{hold: "dead", ignored: true},
	{work: "unclear", hold: "dead"},
}

// nodeStates lists further states of hosts that are nodes.
var nodeStates = []machine{
	{work: "reboot", node: "cordoned"},
	{node: "cordoned"},
	{work: "quiet", node: "cordoned"},
	{work: "reboot", node: "cordoned", failed: true, hold: "own"},
	{work: "reboot", node: "cordoned", hold: "dead"},
	{work: "reboot", node: "not-ready"},
	{node: "not-ready"},
	{work: "reboot", node: "deleted"},
}

func (m *machine) in(s machine) *machine {
	s.name, s.pool, s.cluster, s.zone = m.name, m.pool, m.cluster, m.zone
	return &s
}

// eachChoice calls f with every way to choose k of n things in order, with
// repetition. If ordered is false, it calls f once for each multiset.
func eachChoice(n, k int, ordered bool, f func([]int)) {
	pick := make([]int, k)
	var next func(int)
	next = func(i int) {
		if i == k {
			f(pick)
			return
		}
		from := 0
		if !ordered && i > 0 {
			from = pick[i-1]
		}
		for v := from; v < n; v++ {
			pick[i] = v
			next(i + 1)
		}
	}
	next(0)
}

// The test combines every state of the members of clusters of one to three
// members, with every leader, and with every condition of the cluster.
func TestClusterEveryState(t *testing.T) {
	t.Parallel()
	every := longtest.Choose(13, 3, 1)
	conditions := []etcd{{}, {allowOutage: true}, {learner: true}, {alarm: true, allowOutage: true}, {unknown: true}}
	for n := 1; n <= 3; n++ {
		eachChoice(len(states), n, true, func(pick []int) {
			var members []*machine
			for i, s := range pick {
				members = append(members, member(i).in(states[s]))
			}
			for i, c := range conditions {
				if n == 3 && (pick[0]+pick[1]+pick[2]+i)%every != 0 {
					continue
				}
				w := etcdWorld(members, 1+i%2)
				c.leader = members[(pick[0]+i)%n].name
				w.clusters["main"] = &c
				simulateApply(t, w)
			}
		})
	}
}

// The test combines the states of the members of larger clusters, without
// regard to their order.
func TestClusterLargeEveryState(t *testing.T) {
	t.Parallel()
	few := []machine{{}, {work: "reboot"}, {work: "reboot", sick: true}, {hold: "foreign"}, {work: "reboot", hold: "dead"}, {hold: "dead", sick: true}, {lost: true}}
	for n := 4; n <= longtest.Choose(5, 7, 7); n++ {
		eachChoice(len(few), n, false, func(pick []int) {
			var members []*machine
			for i, s := range pick {
				members = append(members, member(i).in(few[s]))
			}
			for _, leader := range []int{0, n - 1} {
				w := etcdWorld(members, n)
				w.clusters["main"].leader = members[leader].name
				simulateApply(t, w)
			}
		})
	}
}

// A pool without etcd: every combination of states × zones × limits.
func TestPoolEveryState(t *testing.T) {
	t.Parallel()
	every := longtest.Choose(41, 5, 1)
	limits := []engine.CountOrPercent{{Count: 1}, {Count: 2}, {Percent: 50}, {Percent: 100}, {}}
	for n := 1; n <= 4; n++ {
		eachChoice(len(states), n, n < 4, func(pick []int) {
			for z, limit := range limits {
				if n == 3 && (pick[0]+pick[1]+pick[2]+z)%every != 0 || n == 4 && (z%2 == 0 || (pick[0]+pick[1]+pick[2]+pick[3])%every != 0) {
					continue
				}
				w := &world{pools: []engine.Pool{{Name: "worker", MaxUnavailable: limit}}}
				for i, s := range pick {
					m := worker(i)
					m.zone = fmt.Sprint((i + z) % (1 + z%3))
					w.hosts = append(w.hosts, m.in(states[s]))
				}
				simulateApply(t, w)
			}
		})
	}
}

// A pool of nodes: every combination of states × budgets of the pool and of the site.
func TestNodesEveryState(t *testing.T) {
	t.Parallel()
	few := append([]machine{{}, {work: "reboot"}, {lost: true}, {hold: "foreign"}, {work: "reboot", failed: true, hold: "own"}}, nodeStates...)
	every := longtest.Choose(41, 5, 1)
	for n := 1; n <= 4; n++ {
		eachChoice(len(few), n, n < 4, func(pick []int) {
			sum := 0
			for _, s := range pick {
				sum += s
			}
			for limit := 1; limit <= 2; limit++ {
				if n > 2 && (sum+limit)%every != 0 {
					continue
				}
				w := &world{
					pools: []engine.Pool{{Name: "worker", MaxUnavailable: engine.CountOrPercent{Count: limit}, FailureBudget: engine.CountOrPercent{Count: 4}}},
					site:  engine.CountOrPercent{Count: 1 + sum%2, Set: sum%3 == 0},
				}
				for i, s := range pick {
					w.hosts = append(w.hosts, worker(i).in(few[s]))
				}
				simulateApply(t, w)
			}
		})
	}
}

// The members are in two pools, of which one may come after the other, directly
// or through an empty third pool. A worker pool comes after both or beside
// them.
func TestPoolsInOrder(t *testing.T) {
	t.Parallel()
	few := []machine{{}, {work: "reboot"}, {work: "reboot", hold: "dead"}, {hold: "foreign"}, {sick: true}, {lost: true}, {work: "quiet"}}
	orders := [][3][]string{
		{nil, nil, nil},
		{nil, {"etcd"}, {"etcd", "edge"}},
		{{"none"}, nil, {"none"}},
		{nil, nil, {"none"}},
	}
	every := longtest.Choose(40, 10, 3)
	eachChoice(len(few), 5, true, func(pick []int) {
		if (pick[0]+pick[1]*3+pick[2]*5+pick[3]*2+pick[4])%every != 0 {
			return // try only a part of the 16807 worlds, spread evenly
		}
		o := orders[(pick[0]+pick[4])%len(orders)]
		w := &world{
			pools: []engine.Pool{
				{Name: "worker", After: o[2], MaxUnavailable: engine.CountOrPercent{Count: 1 + pick[4]%2}},
				{Name: "none", After: []string{"edge"}},
				{Name: "edge", After: o[1]},
				{Name: "etcd", After: o[0]},
			},
			clusters: map[string]*etcd{"main": {leader: "etcd-0"}},
		}
		for i, s := range pick {
			m := member(i)
			switch i {
			case 2:
				m.pool = "edge"
			case 3, 4:
				m = worker(i)
			}
			w.hosts = append(w.hosts, m.in(few[s]))
		}
		if w.pools[3].After != nil {
			w.pools[1].After = nil // otherwise the pools would wait for each other
		}
		simulateApply(t, w)
	})
}

// The test combines the states of three hosts, one of which is in another pool,
// with a canary, a failure budget, a window and a budget of the site.
func TestPaceEveryState(t *testing.T) {
	t.Parallel()
	few := []machine{
		{},
		{work: "reboot"},
		{work: "quiet"},
		{work: "unclear"},
		{work: "reboot", hold: "dead"},
		{hold: "foreign"},
		{work: "reboot", paused: true},
		{work: "reboot", failed: true},
		{work: "reboot", hold: "own", failed: true},
		{work: "reboot", rejected: true},
		{lost: true},
	}
	var paces []engine.Pool
	for canaries := range 3 {
		for budget := range 2 {
			for _, windows := range [][]engine.Window{nil, {open}, {closed}} {
				p := engine.Pool{Name: "worker", MaxUnavailable: engine.CountOrPercent{Count: 2}, FailureBudget: engine.CountOrPercent{Count: budget}, Windows: windows}
				if canaries > 0 {
					p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: canaries}}
				}
				paces = append(paces, p)
			}
		}
	}
	every := longtest.Choose(19, 7, 1)
	eachChoice(len(few), 3, true, func(pick []int) {
		for n, p := range paces {
			if (pick[0]+pick[1]+pick[2]+n)%every != 0 {
				continue
			}
			w := &world{pools: []engine.Pool{p, {Name: "edge"}}, site: engine.CountOrPercent{Count: 1 + n%3, Set: n%2 == 0}}
			for i, s := range pick {
				m := worker(i)
				if i == 2 {
					m.pool = "edge"
				}
				w.hosts = append(w.hosts, m.in(few[s]))
			}
			simulateApply(t, w)
		}
	})
}
