package planner_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/longtest"
	"holdfast/engine/planner"
)

// conditions are the states of a host in the notation of these tests. The tests
// compare which hosts go next, and how many, with the selection that the Machine
// Config Operator makes for the nodes of a pool (getAllCandidateMachines and
// getUnavailableMachines in pkg/controller/node, IsUnavailableForUpdate and
// CheckNodeCandidacyForUpdate in pkg/controller/common, and their tests, at
// commit 7ff337a4 of August 2026). The MCO keeps the
// state of a node in annotations (the current and the desired config or image,
// and the state of its daemon) and in its conditions. These hosts correspond to it:
//
//	MCO: current, desired, daemon, conditions    here
//	target, target, done                         done          matches
//	older, older, done                           waiting       has work
//	older, target, done or none: not begun yet   taken         held by another live run
//	target, another, done: not begun yet         takenAway     held by another live run, still matches
//	older, target, working                       working       held by another live run
//	the same, and not ready                      rebooting     cannot be reached
//	any, not ready                               notReady      cannot be reached: its OS is not known
//	any, unschedulable                           cordoned      held for maintenance
//	older, target, degraded                      failing       failed in this run, and held by it
//	                                             failedBefore  failed in the run before, and still held by it
//	target, target, degraded                     shaky         was brought to the target, and is still held by a run
//	                                                           that failed there or died
//	older, other than target, degraded           stuck         an expired hold of a run to an older target
//	target, other than target, degraded          turnedBack    the same, and the host still runs the target
//
// The MCO uses the state of a daemon, and holdfast uses holds. A node that is
// only cordoned in Kubernetes is an available host here. A maintenance hold makes
// the host unavailable.
//
// Where holdfast deliberately differs, the case states the selection of the MCO.
var conditions = map[string]machine{
	"done":         {},
	"waiting":      {work: "reboot"},
	"taken":        {work: "reboot", hold: "foreign"},
	"takenAway":    {hold: "foreign"},
	"working":      {work: "reboot", hold: "foreign"},
	"rebooting":    {work: "reboot", hold: "foreign", lost: true},
	"notReady":     {lost: true},
	"cordoned":     {hold: "maintenance"},
	"failing":      {work: "reboot", hold: "own", failed: true},
	"failedBefore": {work: "reboot", hold: "dead"},
	"shaky":        {hold: "dead"},
	"stuck":        {work: "reboot", hold: "expired"},
	"turnedBack":   {hold: "expired"},
	"released":     {work: "reboot"}, // failed in the previous run, and a person released it
}

// candidateCase is one pool without etcd and zones, and its expected batches.
// Its hosts are a, b, c …; the lists name them.
type candidateCase struct {
	name  string
	limit int
	hosts string // the condition of each host
	first string // hosts of the first batch
	then  string // later batches, if all goes well
	out   string // hosts with work, or possibly with work, that are excluded: unavailable, or without room

	mco string // hosts that the MCO selects first; "": the same
	why string // the reason for the difference
}

func (c candidateCase) input(spare int) planner.Input {
	w := &world{pools: []engine.Pool{{Name: "worker", MaxUnavailable: engine.CountOrPercent{Count: c.limit, Set: true}}}}
	list := append(strings.Fields(c.hosts), slices.Repeat([]string{"waiting"}, spare)...)
	var retry []string
	for i, condition := range list {
		state, ok := conditions[condition]
		if !ok {
			panic("no condition " + condition)
		}
		m := (&machine{name: string(rune('a' + i)), pool: "worker"}).in(state)
		w.hosts = append(w.hosts, m)
		if condition == "failedBefore" || condition == "shaky" || condition == "released" {
			retry = append(retry, m.name)
		}
	}
	in := w.input()
	in.Retry = retry
	return in
}

// describePlan formats a plan in the notation of candidateCase.
func describePlan(p engine.Plan) (first, then, out string) {
	var batches []string
	for _, b := range p.Batches {
		batches = append(batches, strings.Join(b.Hosts, " "))
	}
	if len(batches) > 0 {
		first, then = batches[0], strings.Join(batches[1:], ", ")
	}
	var left []string
	for _, x := range p.Excluded {
		left = append(left, x.Host+" "+string(x.Kind))
	}
	return first, then, strings.Join(left, ", ")
}

// capacity returns how many hosts of the pool may go down together, if enough
// hosts wait.
func (c candidateCase) capacity() int {
	p := planner.NewPlan(c.input(5))
	if len(p.Batches) == 0 {
		return 0
	}
	return len(p.Batches[0].Hosts)
}

// The test compares the selection with the MCO, case by case. room is the
// capacity of the MCO.
func TestCandidates(t *testing.T) {
	for _, c := range []struct {
		candidateCase
		room int
	}{
		{candidateCase{name: "nothing to do", limit: 1, hosts: "done done done"}, 1},
		{candidateCase{name: "nothing to do, and one is down", limit: 1, hosts: "done done notReady", out: "c unreachable"}, 0},
		{candidateCase{name: "one is down and one on its way", limit: 1, hosts: "done notReady working", out: "b unreachable, c held"}, 0},
		{candidateCase{name: "who is down is passed over and uses up a place", limit: 2, hosts: "notReady waiting waiting", first: "b", then: "c", out: "a unreachable"}, 1},
		{candidateCase{name: "who is on its way uses up a place, too", limit: 3, hosts: "done notReady working waiting waiting", first: "d", then: "e", out: "b unreachable, c held"}, 1},
		{candidateCase{name: "the only place is taken", limit: 1, hosts: "done done working waiting waiting", out: "c held, d blocked, e blocked"}, 0},
		{candidateCase{name: "a host stuck on the way to an older target goes to the new one", limit: 1, hosts: "done stuck waiting", first: "b", then: "c"}, 1},
		{
			candidateCase{
				name: "a host that has what it should, and is not well, is seen through first", limit: 1, hosts: "done shaky waiting", first: "b", then: "c",
				mco: "nobody", why: "the MCO's daemon tries again by itself; here that is what a run does",
			}, 1,
		},
		{candidateCase{name: "a host that fails in this run is not tried again, and nobody else is begun", limit: 1, hosts: "done failing waiting", out: "b failed, c blocked"}, 0},
		{
			candidateCase{
				name: "the next run tries it again before others", limit: 1, hosts: "done failedBefore waiting", first: "b", then: "c",
				mco: "nobody", why: "the MCO's daemon tries again by itself; here that is what a run does",
			}, 1,
		},
		{candidateCase{name: "back to what it had, before it left that", limit: 1, hosts: "done done turnedBack done", first: "c"}, 1},
		{candidateCase{name: "back to what it had, after it left that", limit: 1, hosts: "done done stuck done", first: "c"}, 1},
		{candidateCase{name: "another run has it and has not begun", limit: 1, hosts: "done takenAway done", out: "b held"}, 0},
		{candidateCase{name: "all of it in one pool", limit: 4, hosts: "done notReady working waiting waiting waiting waiting done done", first: "d e", then: "f g", out: "b unreachable, c held"}, 2},
		{candidateCase{name: "the same for an image, and one more is down", limit: 4, hosts: "done notReady working notReady waiting waiting waiting done done", first: "e", then: "f, g", out: "b unreachable, c held, d unreachable"}, 1},
		{candidateCase{name: "a first image, ordered and not begun", limit: 1, hosts: "taken waiting waiting", out: "a held, b blocked, c blocked"}, 0},
		{candidateCase{name: "a first image, begun", limit: 1, hosts: "rebooting waiting waiting", out: "a unreachable, b blocked, c blocked"}, 0},
		{candidateCase{name: "back from an image, ordered and not begun", limit: 1, hosts: "taken done done", out: "a held"}, 0},
		{candidateCase{name: "back from an image, begun", limit: 1, hosts: "rebooting done done", out: "a unreachable"}, 0},

		{candidateCase{name: "held for maintenance, limit 1", limit: 1, hosts: "cordoned waiting waiting waiting waiting", out: "a held, b blocked, c blocked, d blocked, e blocked"}, 0},
		{candidateCase{name: "held for maintenance, limit 2", limit: 2, hosts: "cordoned waiting waiting waiting waiting", first: "b", then: "c, d, e", out: "a held"}, 1},
		{candidateCase{name: "held for maintenance, limit 3", limit: 3, hosts: "cordoned waiting waiting waiting waiting", first: "b c", then: "d e", out: "a held"}, 2},
		{candidateCase{name: "held for maintenance, limit 4", limit: 4, hosts: "cordoned waiting waiting waiting waiting", first: "b c d", then: "e", out: "a held"}, 3},

		{
			candidateCase{
				name: "left half done: alone, although there is room", limit: 4, hosts: "waiting stuck waiting waiting", first: "b", then: "a c d",
				mco: "a b c d", why: "until it is back it is not known whether what it failed at awaits the others",
			}, 1,
		},
		{
			candidateCase{
				name: "left half done: all of them, as the limit allows", limit: 2, hosts: "stuck waiting failedBefore stuck", first: "a d", then: "c, b",
				mco: "a", why: "what a run left half done goes before what none has touched, and what failed last time must not keep the rest of it down",
			}, 2,
		},
		{
			candidateCase{
				name: "left half done: tried although others use up the limit", limit: 1, hosts: "notReady stuck waiting", first: "b", out: "a unreachable, c blocked",
				mco: "nobody", why: "it is unavailable as it is, and would stay so for ever",
			}, 1,
		},
		{
			candidateCase{
				name: "failed last time and released by a person: before others", limit: 1, hosts: "waiting released waiting", first: "b", then: "a, c",
				mco: "a", why: "an operator who has repaired a host wants to see it work",
			}, 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planner.NewPlan(c.input(0))
			if first, then, out := describePlan(p); first != c.first || then != c.then || out != c.out || len(p.Refusals) > 0 {
				t.Errorf("first %q, then %q, without %q; want %q, %q, %q; refused %q", first, then, out, c.first, c.then, c.out, p.Refusals)
			}
			if got := c.capacity(); got != c.room {
				t.Errorf("%d may go down together, want %d", got, c.room)
			}
			if (c.mco == "") != (c.why == "") {
				t.Error("say what the MCO does and why it is otherwise here")
			}
		})
	}
}

// The test checks which hosts count as unavailable, for every limit. Waiting
// hosts get the remaining places.
func TestUnavailableHosts(t *testing.T) {
	for _, c := range []struct {
		hosts       string
		unavailable string
	}{
		{"", ""},
		{"waiting done working", "c"},
		{"waiting notReady working", "b c"},
		{"takenAway done working", "a c"},
		{"rebooting done working", "a c"},
		{"working done notReady", "a c"},
		{"taken done notReady", "a c"},
		{"working done notReady notReady waiting", "a c d"},
		{"working waiting notReady notReady waiting", "a c d"},
		{"working done notReady notReady done", "a c d"},
		{"waiting waiting working taken", "c d"},
		{"done waiting taken taken", "c d"},
		{"done waiting cordoned waiting", "c"},
		{"cordoned working notReady rebooting", "a b c d"},
		{"done waiting done waiting", ""},
	} {
		gone := strings.Fields(c.unavailable)
		for limit := 1; limit <= 4; limit++ {
			pool := candidateCase{limit: limit, hosts: c.hosts}
			if got, want := pool.capacity(), max(0, limit-len(gone)); got != want {
				t.Errorf("%s: limit %d: %d may go down together, want %d", c.hosts, limit, got, want)
			}
			for _, b := range planner.NewPlan(pool.input(5)).Batches {
				for _, h := range b.Hosts {
					if slices.Contains(gone, h) {
						t.Errorf("%s: limit %d: %s goes, and is unavailable", c.hosts, limit, h)
					}
				}
			}
		}
	}
}

// The test counts as the MCO does, with the two rules that only holdfast has,
// for every pool of four hosts and every limit. By default it tries one order of
// each pool.
func TestCandidatesOfEveryPool(t *testing.T) {
	t.Parallel()
	names := []string{"done", "waiting", "working", "notReady", "cordoned", "stuck", "failedBefore"}
	leftOver := map[string]bool{"stuck": true, "failedBefore": true}
	away := map[string]bool{"working": true, "notReady": true, "cordoned": true}
	eachChoice(len(names), 4, longtest.Slow(), func(pick []int) {
		var list []string
		count := map[string]int{}
		for _, p := range pick {
			list = append(list, names[p])
			for kind, set := range map[string]map[string]bool{"left over": leftOver, "away": away, "waiting": {"waiting": true}} {
				if set[names[p]] {
					count[kind]++
				}
			}
		}
		for limit := 1; limit <= 4; limit++ {
			free := limit - count["away"]
			want := min(count["waiting"], max(0, free))
			if count["left over"] > 0 {
				want = min(count["left over"], max(1, free))
			}
			c := candidateCase{limit: limit, hosts: strings.Join(list, " ")}
			first, _, _ := describePlan(planner.NewPlan(c.input(0)))
			got := strings.Fields(first)
			for _, h := range got {
				condition := list[h[0]-'a']
				if condition != "waiting" && !leftOver[condition] || leftOver[condition] != (count["left over"] > 0) {
					t.Fatalf("%s: limit %d: first %s, among them %s, which is %s", c.hosts, limit, first, h, condition)
				}
			}
			if len(got) != want {
				t.Fatalf("%s: limit %d: first %q, want %d of them", c.hosts, limit, first, want)
			}
		}
	})
}

// With a failure budget, a host that failed in this run only uses up a place.
// With the MCO, a host that does not reach the config of its pool does the
// same.
func TestCandidatesBesideFailures(t *testing.T) {
	for _, c := range []struct {
		hosts              string
		limit, budget      int
		bestEffort         bool
		first, blockedRest string
	}{
		{"failing waiting waiting waiting", 3, 1, false, "b c", ""},
		{"failing waiting waiting waiting", 3, 0, true, "b c", ""},
		{"failing waiting waiting waiting", 1, 1, false, "", "b blocked, c blocked, d blocked"},
		{"failing failing waiting waiting", 4, 2, false, "c d", ""},
		{"failing failing waiting waiting", 4, 1, false, "", "c blocked, d blocked"},
		{"failing notReady waiting waiting", 3, 1, false, "c", ""},
		{"failing waiting waiting waiting", 4, 0, false, "", "b blocked, c blocked, d blocked"}, // the MCO selects three of them; in holdfast the first failure stops the run unless the pool has a failure budget
	} {
		in := candidateCase{limit: c.limit, hosts: c.hosts}.input(0)
		in.Inventory.Pools[0].FailureBudget = engine.CountOrPercent{Count: c.budget, Set: true}
		in.BestEffort = c.bestEffort
		p := planner.NewPlan(in)
		first, _, out := describePlan(p)
		var blocked []string
		for _, x := range strings.Split(out, ", ") {
			if strings.HasSuffix(x, " blocked") {
				blocked = append(blocked, x)
			}
		}
		if rest := strings.Join(blocked, ", "); first != c.first || rest != c.blockedRest {
			t.Errorf("%s: limit %d, failure budget %d: first %q, then %q; want %q, %q", c.hosts, c.limit, c.budget, first, rest, c.first, c.blockedRest)
		}
	}
}

// Two hosts of an etcd cluster never go together, at any limit. For the MCO, a
// control plane is a pool like any other, which its limit protects, and the MCO
// puts the node on which it runs itself last. Here the leader is last.
func TestCandidatesOfEtcd(t *testing.T) {
	for _, c := range []struct {
		hosts string // a leads the cluster
		limit int
		first string
		then  string
		out   string
	}{
		{"waiting waiting waiting", 1, "b", "c, a", ""},
		{"waiting waiting waiting", 2, "b", "c, a", ""},
		{"waiting waiting waiting", 3, "b", "c, a", ""},
		{"done waiting waiting", 4, "b", "c", ""},
		{"waiting waiting stuck", 3, "c", "b, a", ""},
		{"waiting waiting cordoned", 3, "", "", "a held, b held, c held"},
		{"waiting working waiting", 3, "", "", "a held, b held, c held"},
		{"failing waiting waiting", 3, "", "", "a failed, b blocked, c blocked"},
		{"done done failedBefore", 1, "c", "", ""},
		{"waiting waiting failedBefore", 3, "c", "b, a", ""},
	} {
		in := candidateCase{limit: c.limit, hosts: c.hosts}.input(0)
		in.Inventory.Clusters = []engine.Cluster{{Name: "main"}}
		members := etcdfacts.ClusterFacts{Name: "main"}
		for i := range in.Inventory.Hosts {
			h := &in.Inventory.Hosts[i]
			h.Cluster = "main"
			members.Members = append(members.Members, etcdfacts.Member{Name: h.Name, Host: h.Name, Healthy: true, Leader: i == 0})
		}
		in.Clusters = map[string]etcdfacts.ClusterFacts{"main": members}
		p := planner.NewPlan(in)
		if first, then, out := describePlan(p); first != c.first || then != c.then || out != c.out || len(p.Refusals) > 0 {
			t.Errorf("%s: limit %d: first %q, then %q, without %q; want %q, %q, %q; refused %q", c.hosts, c.limit, first, then, out, c.first, c.then, c.out, p.Refusals)
		}
	}
}

// Zones go one after the other. The MCO follows their order, too, but fills the
// rest of its capacity from the next zone, and nodes without a zone go last.
// holdfast never disrupts two zones of a pool together, because copies of a
// service are spread over zones.
func TestCandidatesOfZones(t *testing.T) {
	for _, c := range []struct {
		hosts string
		zones string // zone of each host; "-": none
		limit int
		want  string
	}{
		{"waiting waiting waiting waiting waiting", "2 1 2 1 1", 2, "b d | e | a c"},
		{"waiting waiting waiting waiting waiting", "2 1 2 1 1", 4, "b d e | a c"},
		{"waiting waiting waiting", "1 2 3", 3, "a | b | c"},
		{"waiting waiting waiting", "2 - 1", 3, "b | c | a"},
		{"waiting released waiting waiting", "1 2 1 2", 4, "b d | a c"},
		{"stuck stuck waiting waiting", "1 2 1 2", 4, "a | b | c | d"},
	} {
		zones := strings.Fields(c.zones)
		in := candidateCase{limit: c.limit, hosts: c.hosts}.input(0)
		for i, z := range zones {
			in.Inventory.Hosts[i].Zone = strings.Trim(z, "-")
		}
		var got []string
		for _, b := range planner.NewPlan(in).Batches {
			got = append(got, strings.Join(b.Hosts, " "))
		}
		if all := strings.Join(got, " | "); all != c.want {
			t.Errorf("%s in zones %s, limit %d: %s, want %s", c.hosts, c.zones, c.limit, all, c.want)
		}
	}
}
