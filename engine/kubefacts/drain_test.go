package kubefacts_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine/kubefacts"
)

// TestPodsThatComeBack: a pod that the drain finds at its first look goes. A later one that tolerates the cordon stays, and
// so does one whose controller has made a pod on the node again, after the cordon and after the drain had evicted such a pod.
func TestPodsThatComeBack(t *testing.T) {
	n := kubefacts.Node{Name: "n", UID: "u", Cordoned: true}
	pod := func(uid, owner string, tolerates bool) kubefacts.Pod {
		return kubefacts.Pod{Namespace: "t", Name: uid, UID: uid, Owner: owner, Controlled: owner != "", ToleratesCordon: tolerates}
	}
	cordon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	old := func(uid, owner string) kubefacts.Pod {
		p := pod(uid, owner, false)
		p.Created = cordon.Add(-time.Second)
		return p
	}
	look := func(d *kubefacts.Drain, i int, pods ...kubefacts.Pod) string {
		at := cordon.Add(time.Duration(i) * 2 * time.Second)
		pods = slices.Clone(pods)
		for i := range pods {
			if pods[i].Created.IsZero() {
				pods[i].Created = at.Add(-time.Millisecond).Truncate(time.Second)
			}
		}
		a := d.Next(n, kubefacts.Workload{ReadAt: at, Pods: map[string][]kubefacts.Pod{"n": pods}})
		var names []string
		for _, p := range a.Evict {
			names = append(names, p.Name)
			kind := kubefacts.PodEvicted
			if strings.HasPrefix(p.Name, "gone") {
				kind = kubefacts.PodGone
			}
			d.Note(p, kubefacts.Eviction{Kind: kind})
		}
		switch {
		case a.Failure != "":
			return a.Failure
		case a.Done:
			return "done"
		}
		return fmt.Sprintf("%d left, evict %s", len(a.Left), strings.Join(names, " "))
	}
	for name, x := range map[string]struct {
		looks [][]kubefacts.Pod
		want  []string
	}{
		"tolerates":           {[][]kubefacts.Pod{{pod("a", "o", true)}, {pod("b", "o", true)}}, []string{"1 left, evict a", "done"}},
		"of nobody":           {[][]kubefacts.Pod{{pod("a", "o", true)}, {pod("b", "", true)}}, []string{"1 left, evict a", "done"}},
		"of nobody, and goes": {[][]kubefacts.Pod{{pod("a", "o", true)}, {pod("b", "", false)}}, []string{"1 left, evict a", "pods that the drain must not or cannot evict: t/b (no controller makes it again, and force is not set)"}},
		"by its node name": {
			[][]kubefacts.Pod{{pod("a", "o", false)}, {pod("b", "o", false)}, {pod("c", "o", false)}, {pod("d", "o", false)}},
			[]string{"1 left, evict a", "1 left, evict b", "done", "done"},
		},
		"bound before the cordon": {
			[][]kubefacts.Pod{{pod("a", "o", false)}, {pod("a", "o", false), pod("b", "o", false), pod("c", "o", false)}, {pod("b", "o", false), pod("c", "o", false)}},
			[]string{"1 left, evict a", "3 left, evict b c", "2 left, evict "},
		},
		"made before the cordon": {
			[][]kubefacts.Pod{{old("a", "o")}, {old("b", "o")}, {old("c", "o")}, {pod("d", "o", false)}},
			[]string{"1 left, evict a", "1 left, evict b", "1 left, evict c", "done"},
		},
		"gone by itself": {
			[][]kubefacts.Pod{{pod("a", "o", false)}, {pod("gone-b", "o", false)}, {pod("c", "o", false)}, {pod("d", "o", false)}},
			[]string{"1 left, evict a", "1 left, evict gone-b", "1 left, evict c", "done"},
		},
		"of another":    {[][]kubefacts.Pod{{pod("a", "o", false)}, {pod("b", "o", false)}, {pod("c", "p", false)}}, []string{"1 left, evict a", "1 left, evict b", "1 left, evict c"}},
		"none at first": {[][]kubefacts.Pod{{pod("m", "o", false)}, {pod("m", "o", false), pod("a", "p", true)}}, []string{"1 left, evict m", "1 left, evict "}},
	} {
		d := kubefacts.Drain{NodeUID: "u"}
		for i, pods := range x.looks {
			if got := look(&d, i, pods...); got != x.want[i] {
				t.Errorf("%s, look %d: %q, want %q", name, i, got, x.want[i])
			}
		}
	}
}

// drainedWorld is a node whose pods are drained while everything around it changes. It enforces no law itself: it only records.
type drainedWorld struct {
	node     kubefacts.Node
	pods     map[string]kubefacts.Pod // by name
	nodeOf   map[string]string        // by UID
	allowed  map[string]int           // evictions that the budget of an app allows, as the API counts them
	next     int
	now      time.Time
	began    time.Time // the first look
	evicted  map[string]bool
	late     map[string]bool // by UID of the pods that a look has found: the first one did not
	stays    map[string]bool // by UID: late pods that tolerate the cordon, or that are made here again and again
	returned map[string]bool // by owner: a late pod of it was evicted
	violated string
}

func (w *drainedWorld) add(t *rapid.T, name string) {
	w.next++
	p := kubefacts.Pod{
		Namespace: "t", Name: name, UID: fmt.Sprintf("%s-%d", name, w.next), Labels: map[string]string{"app": name[:1]}, Ready: true,
		Controlled: rapid.IntRange(0, 9).Draw(t, "controlled") > 0, EmptyDir: rapid.IntRange(0, 9).Draw(t, "emptydir") == 0,
		DaemonSet: rapid.IntRange(0, 5).Draw(t, "daemonset") == 0, Mirror: rapid.IntRange(0, 5).Draw(t, "mirror") == 0, Finished: rapid.IntRange(0, 5).Draw(t, "finished") == 0,
	}
	p.Controlled = p.Controlled || p.DaemonSet
	if p.ToleratesCordon = rapid.IntRange(0, 3).Draw(t, "tolerates") == 0; p.Controlled {
		p.Owner = name[:1]
	}
	p.Created = w.now.Add(-rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "age"))
	w.pods[name], w.nodeOf[p.UID] = p, "n"
}

// look returns the pods. A list may be of a moment before the last eviction.
func (w *drainedWorld) look(t *rapid.T) kubefacts.Workload {
	w.now = w.now.Add(2 * time.Second)
	load := kubefacts.Workload{ReadAt: w.now, Pods: map[string][]kubefacts.Pod{}}
	first := w.late == nil
	if first {
		w.began = w.now
		w.late, w.stays, w.returned = map[string]bool{}, map[string]bool{}, map[string]bool{}
	}
	old := rapid.IntRange(0, 3).Draw(t, "old list") == 0
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		p := w.pods[name]
		p.Terminating = p.Terminating && !(old && w.evicted[p.UID])
		if _, seen := w.late[p.UID]; !seen && w.nodeOf[p.UID] == "n" {
			w.late[p.UID], w.stays[p.UID] = !first, !first && (p.ToleratesCordon || w.returned[p.Owner] && p.Created.Sub(w.began) >= 2*time.Second)
		}
		load.Pods[w.nodeOf[p.UID]] = append(load.Pods[w.nodeOf[p.UID]], p)
	}
	return load
}

// evict answers as an API does, and records what no drain may do.
func (w *drainedWorld) evict(asked kubefacts.Pod, o kubefacts.DrainOptions) kubefacts.Eviction {
	now, ok := w.pods[asked.Name]
	switch {
	case w.evicted[asked.UID]:
		w.violated = asked.UID + " is evicted twice"
	case asked.Mirror || asked.DaemonSet || w.stays[asked.UID]:
		w.violated = asked.UID + " is evicted, although it stays"
	case !asked.Finished && !asked.Controlled && !o.Force:
		w.violated = asked.UID + " is evicted, and nothing makes it again"
	case !asked.Finished && asked.EmptyDir && !o.DeleteEmptyDirData:
		w.violated = asked.UID + " is evicted, and its data are lost"
	case !w.node.Cordoned:
		w.violated = asked.UID + " is evicted from a node that is not cordoned"
	}
	app := asked.Name[:1]
	switch {
	case !ok:
		return kubefacts.Eviction{Kind: kubefacts.PodGone}
	case now.UID != asked.UID:
		return kubefacts.Eviction{Kind: kubefacts.PodReplaced}
	case !now.Finished && w.allowed[app] <= 0:
		return kubefacts.Eviction{Kind: kubefacts.BudgetRefused, Budget: app, Text: "no room"}
	case w.nodeOf[now.UID] != "n":
		w.violated = asked.UID + " is evicted elsewhere"
	}
	if !now.Finished {
		w.allowed[app]--
	}
	now.Terminating = true
	w.returned[now.Owner] = w.returned[now.Owner] || now.Owner != "" && w.late[now.UID]
	w.pods[asked.Name], w.evicted[now.UID] = now, true
	return kubefacts.Eviction{Kind: kubefacts.PodEvicted}
}

// disturb lets one thing happen that a drain does not do.
func (w *drainedWorld) disturb(t *rapid.T) {
	names := []string{"a1", "a2", "b1", "b2", "c1"}
	name := rapid.SampledFrom(names).Draw(t, "pod")
	p, ok := w.pods[name]
	switch rapid.IntRange(0, 6).Draw(t, "event") {
	case 0: // a pod that ends is gone, and its controller has made another one
		if ok && p.Terminating {
			delete(w.pods, name)
			w.allowed[name[:1]]++
		}
	case 1: // a StatefulSet makes the pod again, under its name, on another node
		if !ok || p.Terminating {
			w.add(t, name)
			w.nodeOf[w.pods[name].UID] = "m"
		}
	case 2: // a pod that nobody scheduled appears on the node
		if !ok {
			w.add(t, name)
		}
	case 3:
		w.allowed[name[:1]] = rapid.IntRange(0, 2).Draw(t, "room")
	case 4: // somebody deletes a pod
		if ok {
			p.Terminating = true
			w.pods[name] = p
		}
	case 5:
		w.node.Cordoned = rapid.IntRange(0, 19).Draw(t, "cordoned") > 0
	}
}

// TestDrainLaws: whatever happens around a drain, it evicts no pod twice, none that stays or that its options protect, none
// elsewhere, and none from a node that is not cordoned. It is done only when no pod is left, except those that come back to a
// cordoned node.
func TestDrainLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &drainedWorld{node: kubefacts.Node{Name: "n", UID: "u", Cordoned: true}, pods: map[string]kubefacts.Pod{}, nodeOf: map[string]string{}, allowed: map[string]int{}, evicted: map[string]bool{}}
		for _, name := range []string{"a1", "a2", "b1"} {
			w.add(t, name)
			w.allowed[name[:1]] = rapid.IntRange(0, 2).Draw(t, "room")
		}
		d := kubefacts.Drain{NodeUID: "u", Options: kubefacts.DrainOptions{ByAPI: true, Force: rapid.Bool().Draw(t, "force"), DeleteEmptyDirData: rapid.Bool().Draw(t, "delete")}}
		for range 40 {
			seen := w.look(t)
			a := d.Next(w.node, seen)
			switch {
			case a.Failure != "":
				if len(a.Evict) > 0 {
					t.Fatalf("it fails, and evicts %v", a.Evict)
				}
				return
			case a.Done:
				for _, p := range seen.Pods["n"] {
					if !p.Mirror && !p.DaemonSet && !w.stays[p.UID] {
						t.Fatalf("it is done, and %s is left", p)
					}
				}
				return
			case len(a.Left) == 0:
				t.Fatal("it is not done, and nothing is left")
			}
			for _, p := range a.Evict {
				if rapid.IntRange(0, 4).Draw(t, "meanwhile") == 0 { // the world changes between the look and the eviction
					cordoned := w.node.Cordoned
					w.disturb(t)
					w.node.Cordoned = cordoned // the next look sees that
				}
				if now, ok := w.pods[p.Name]; ok && now.UID == p.UID && now.Terminating && !w.evicted[p.UID] {
					continue // an API evicts it once more, which does nothing
				}
				d.Note(p, w.evict(p, d.Options))
				if w.violated != "" {
					t.Fatal(w.violated)
				}
			}
			w.disturb(t)
		}
	})
}

// TestDrainNames: the text names the pods left, and what holds each.
func TestDrainNames(t *testing.T) {
	var d kubefacts.Drain
	pod := func(name string) kubefacts.Pod { return kubefacts.Pod{Namespace: "t", Name: name, UID: name} }
	left := []kubefacts.Pod{pod("a"), pod("b"), pod("c"), pod("d"), pod("e")}
	d.Note(left[0], kubefacts.Eviction{Kind: kubefacts.PodEvicted})
	d.Note(left[1], kubefacts.Eviction{Kind: kubefacts.BudgetRefused, Budget: "p", Text: "no room"})
	d.Note(left[4], kubefacts.Eviction{Kind: kubefacts.BudgetRefused, Budget: "p", Text: "no room"})
	d.Note(left[2], kubefacts.Eviction{Kind: kubefacts.EvictionUnknown, Problem: &kubefacts.Problem{Cause: "refused", Hint: "x"}})
	d.Note(left[3], kubefacts.Eviction{Kind: kubefacts.EvictionForbidden, Text: "no right"})
	if got, want := d.DescribeLeft(left), "pods are left: t/a (ending), t/b, t/e (PodDisruptionBudget t/p: no room), t/c (refused), t/d (no right)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := strings.Join(d.BudgetsThatHold(left), " "); got != "t/p" {
		t.Errorf("budgets that hold: %s", got)
	}
	var many []kubefacts.Pod
	for i := range 8 {
		many = append(many, pod(fmt.Sprint(i)))
	}
	if got := d.DescribeLeft(many); !strings.HasSuffix(got, "t/4, and 3 more") {
		t.Error(got)
	}
}

// TestConflictIsTriedAgain: the API also answers 409 if the pod has changed during the eviction. While the pod is listed, the
// drain goes on.
func TestConflictIsTriedAgain(t *testing.T) {
	p := kubefacts.Pod{Namespace: "shop", Name: "web-1", UID: "u1", Controlled: true}
	n := kubefacts.Node{Name: "n", UID: "n1", Cordoned: true}
	w := kubefacts.Workload{Pods: map[string][]kubefacts.Pod{"n": {p}}}
	d := kubefacts.Drain{NodeUID: "n1"}
	for _, c := range []struct {
		answer kubefacts.EvictionKind
		again  int
	}{{kubefacts.PodReplaced, 1}, {kubefacts.PodEvicted, 0}} {
		d.Note(p, kubefacts.Eviction{Kind: c.answer})
		if next := d.Next(n, w); len(next.Evict) != c.again || len(next.Left) != 1 {
			t.Errorf("after %s: %+v", c.answer, next)
		}
	}
}
