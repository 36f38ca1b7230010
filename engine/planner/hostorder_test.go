package planner_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// The hosts of a pool follow each other in the order of the pool, zone by zone.
// Hosts that failed in the previous run come first.
func TestOrder(t *testing.T) {
	hosts := func() []*machine {
		var list []*machine
		for _, name := range []string{"c/z2", "a/z1", "d/z1", "b/z2"} {
			name, zone, _ := strings.Cut(name, "/")
			list = append(list, &machine{name: name, pool: "w", zone: zone, work: "reboot"})
		}
		return list
	}
	for _, tc := range []struct {
		order engine.Order
		retry []string
		want  string
	}{
		{engine.Sorted, nil, "a d b c"},
		{engine.ReverseSorted, nil, "c b d a"},
		{engine.InInventory, nil, "c b a d"},
		{engine.ReverseInventory, nil, "d a b c"},
		{engine.Sorted, []string{"c"}, "c a d b"},
		{engine.InInventory, []string{"d", "b"}, "b d c a"},
	} {
		w := &world{pools: []engine.Pool{{Name: "w", Order: tc.order}}, hosts: hosts()}
		in := w.input()
		in.Retry = tc.retry
		var got []string
		for _, b := range planner.NewPlan(in).Batches {
			got = append(got, b.Hosts...)
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%q, retried %v: %v, not %s", tc.order, tc.retry, got, tc.want)
		}
	}
}

// The order of a play replaces every order of a pool.
func TestOrderOfAPlay(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "worker", Order: engine.ReverseSorted}}, hosts: []*machine{worker(0).in(machine{work: "reboot"}), worker(1).in(machine{work: "reboot"})}}
	in := w.input()
	for order, want := range map[engine.Order]string{engine.Sorted: "worker-0", "": "worker-1"} {
		in.Play = &engine.Play{Order: order}
		if got := planner.NewPlan(in).Batches[0].Hosts[0]; got != want {
			t.Errorf("order %q: %s goes first", order, got)
		}
	}
}

// A shuffle depends on the target alone: every planner gets the same order for
// the same target, so apply follows the printed plan.
func TestShuffle(t *testing.T) {
	shuffled := func(target string) []string {
		w := &world{pools: []engine.Pool{{Name: "w", Order: engine.Shuffled}}}
		for i := range 20 {
			w.hosts = append(w.hosts, &machine{name: fmt.Sprintf("w-%02d", i), pool: "w", work: "reboot"})
		}
		in := w.input()
		for _, h := range in.Inventory.Hosts {
			in.Desired[h.Name] = engine.Desired{OS: &engine.OS{Commit: target}}
		}
		var got []string
		for _, b := range planner.NewPlan(in).Batches {
			got = append(got, b.Hosts...)
		}
		return got
	}
	first := shuffled("new")
	if !reflect.DeepEqual(first, shuffled("new")) || reflect.DeepEqual(first, shuffled("newer")) || slices.IsSorted(first) {
		t.Errorf("%v, then %v, and for another target %v", first, shuffled("new"), shuffled("newer"))
	}
}

// The batches of a play have at most as many hosts as serial allows, and as the
// pool has seats.
func TestSerial(t *testing.T) {
	for _, tc := range []struct {
		serial string
		limits []engine.CountOrPercent
		begun  int
		want   []int
	}{
		{"2", []engine.CountOrPercent{{Count: 2}}, 0, []int{2, 2, 2, 2, 2}},
		{"1, 3, 40%", []engine.CountOrPercent{{Count: 1}, {Count: 3}, {Percent: 40}}, 0, []int{1, 3, 4, 2}},
		{"1, 3, 40%, after two batches", []engine.CountOrPercent{{Count: 1}, {Count: 3}, {Percent: 40}}, 2, []int{4, 4, 2}},
		{"60%, and five seats", []engine.CountOrPercent{{Percent: 60}}, 0, []int{5, 5}},
	} {
		w := &world{pools: []engine.Pool{{Name: "worker", MaxUnavailable: engine.CountOrPercent{Count: 5}}}}
		for i := range 10 {
			m := worker(i)
			m.work = "reboot"
			w.hosts = append(w.hosts, m)
		}
		in := w.input()
		in.Play, in.Batches = &engine.Play{Serial: tc.limits}, tc.begun
		var got []int
		for _, b := range planner.NewPlan(in).Batches {
			got = append(got, len(b.Hosts))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("serial %s: batches of %v, not %v", tc.serial, got, tc.want)
		}
	}
}
