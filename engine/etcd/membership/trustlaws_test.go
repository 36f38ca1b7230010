package membership_test

import (
	"fmt"
	"testing"

	"holdfast/engine/etcd/carotation"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/longtest"
)

// cas is a set of two CAs.
type cas uint8

const (
	oldCA cas = 1 << iota
	newCA
)

func (c cas) list() []carotation.CA {
	var list []carotation.CA
	for bit, name := range map[cas]carotation.CA{oldCA: "old", newCA: "new"} {
		if c&bit != 0 {
			list = append(list, name)
		}
	}
	return carotation.NeededCAs(carotation.Wanted{}, []carotation.HostTrust{{Issuers: list}})[1:] // sorted, without the empty goal
}

func caSet(list []carotation.CA) cas {
	var c cas
	for _, ca := range list {
		c |= map[carotation.CA]cas{"old": oldCA, "new": newCA}[ca]
	}
	return c
}

// trustHost is a host of a trustWorld. Its certificates are replaced together, so they have one issuer.
type trustHost struct {
	listed, learner, runs bool
	expired, due          bool
	file, loaded, issuer  cas
}

// trustWorld is a cluster whose certificates holdfast issues. It is comparable: every state is visited once.
type trustWorld struct {
	hosts  [4]trustHost // the first n
	n      int
	leader int
	outage bool
}

func newTrustWorld(members, fresh int, outage bool) trustWorld {
	w := trustWorld{n: members + fresh, outage: outage}
	for i := range members {
		w.hosts[i] = trustHost{listed: true, runs: true, file: oldCA, loaded: oldCA, issuer: oldCA}
	}
	return w
}

func (w trustWorld) serves(i int) bool {
	h := w.hosts[i]
	return h.listed && h.runs && !h.expired
}

func (w trustWorld) state(goal carotation.Wanted) membership.State {
	s := membership.State{Cluster: "main", Saved: true, CA: goal.Issuer, AlsoTrusted: goal.Also, AllowOutage: w.outage}
	for i := range w.n {
		h := w.hosts[i]
		name := fmt.Sprint("h", i)
		c := membership.Certificates{File: h.file.list(), Loaded: h.loaded.list(), Issuers: h.issuer.list()}
		switch {
		case h.issuer == 0:
			c.Problem = "it has none"
		case h.expired:
			c.Problem = "expired"
		case h.due:
			c.Due = "expires soon"
		}
		if !h.runs {
			c.Loaded = c.File
		}
		started := h.listed && h.loaded != 0
		host := membership.Host{Name: name, Checked: true, Running: h.runs, HasData: started, Certificates: c}
		if h.listed {
			m := membership.Member{ID: name, Host: name, Learner: h.learner, Leader: i == w.leader && w.serves(i), Healthy: w.serves(i), CaughtUp: h.learner && w.serves(i)}
			if started {
				m.Name, host.DataOf = name, name
			}
			s.Members = append(s.Members, m)
		}
		s.Hosts = append(s.Hosts, host)
	}
	return s
}

func indexOf(step membership.MemberStep) int { return int(step.Host[1] - '0') }

// parts returns the worlds that a step can leave behind: it may be cut short anywhere. The last is the whole step.
func (w trustWorld) parts(s membership.State, step membership.MemberStep) []trustWorld {
	i := indexOf(step)
	h := &w.hosts[i]
	list := caSet(s.CAsAfter(step))
	switch step.Action {
	case membership.Issue:
		h.file, h.issuer, h.expired, h.due = list, caSet([]carotation.CA{s.CA}), false, false
	case membership.TrustCA, membership.DropCA:
		h.file = list
		placed := w
		h.runs = false
		down := w.elect()
		h.runs, h.loaded = true, list
		return []trustWorld{placed, down, w}
	case membership.MoveLeader:
		for j := range w.n {
			if j != i && w.serves(j) && !w.hosts[j].learner {
				w.leader = j
			}
		}
	case membership.AddLearner:
		h.listed, h.learner = true, true
	case membership.Start:
		h.runs, h.loaded = true, h.file
	case membership.Promote:
		h.learner = false
	default:
		panic(fmt.Sprintf("step %+v", step))
	}
	return []trustWorld{w}
}

func (w trustWorld) elect() trustWorld {
	if w.serves(w.leader) {
		return w
	}
	for i := range w.n {
		if w.serves(i) && !w.hosts[i].learner {
			w.leader = i
		}
	}
	return w
}

// accidents returns the worlds that other causes make of this one.
func (w trustWorld) accidents() []trustWorld {
	var list []trustWorld
	add := func(change func(*trustWorld)) {
		next := w
		change(&next)
		list = append(list, next.elect())
	}
	calm := true
	for i := range w.n {
		calm = calm && (!w.hosts[i].listed || w.serves(i))
	}
	for i := range w.n {
		h := w.hosts[i]
		switch {
		case !h.listed || h.loaded == 0:
		case !h.runs:
			add(func(w *trustWorld) { w.hosts[i].runs, w.hosts[i].loaded = true, h.file })
		default:
			add(func(w *trustWorld) { w.hosts[i].loaded = h.file }) // a power cut
			if calm {
				add(func(w *trustWorld) { w.hosts[i].expired, w.hosts[i].due = true, false })
			}
			if !h.due && !h.expired {
				add(func(w *trustWorld) { w.hosts[i].due = true })
			}
		}
	}
	return list
}

// refuses returns a pair of members of which one refuses the certificates of the other, now or once it has restarted.
func (w trustWorld) refuses() error {
	for a := range w.n {
		for b := range w.n {
			if !w.hosts[a].listed || !w.hosts[b].listed || w.hosts[b].issuer == 0 || w.hosts[a].loaded == 0 || w.hosts[b].loaded == 0 {
				continue
			}
			if w.hosts[b].issuer&^w.hosts[a].loaded != 0 && w.hosts[a].runs && !w.hosts[b].expired {
				return fmt.Errorf("h%d refuses h%d", a, b)
			}
			if w.hosts[b].issuer&^w.hosts[a].file != 0 && !w.hosts[b].expired {
				return fmt.Errorf("h%d would refuse h%d after a restart", a, b)
			}
		}
	}
	return nil
}

// checkStep states the laws of one step.
func (w trustWorld) checkStep(step membership.MemberStep, goal cas) error {
	i := indexOf(step)
	h := w.hosts[i]
	voters, serving, all := 0, 0, true
	for j := range w.n {
		if !w.hosts[j].listed {
			continue
		}
		all = all && w.serves(j)
		if !w.hosts[j].learner {
			voters++
			if w.serves(j) {
				serving++
			}
		}
	}
	switch step.Action {
	case membership.Issue:
		if h.listed && h.loaded != 0 && !h.expired && !all {
			return fmt.Errorf("certificates that can be used are renewed while a member is down")
		}
		for j := range w.n {
			if j != i && w.hosts[j].listed && !w.hosts[j].expired && w.hosts[j].loaded != 0 && w.hosts[j].loaded&goal == 0 {
				return fmt.Errorf("certificates that h%d refuses", j)
			}
		}
	case membership.TrustCA, membership.DropCA:
		switch {
		case !all:
			return fmt.Errorf("a second member goes down")
		case !w.outage && serving-1 < voters/2+1:
			return fmt.Errorf("the quorum is lost")
		case i == w.leader && voters > 1:
			return fmt.Errorf("the leader restarts")
		case step.Action == membership.DropCA && h.file == h.loaded && h.file == goal:
			return fmt.Errorf("a restart for nothing")
		}
	case membership.AddLearner, membership.Start:
		if h.issuer == 0 || h.expired || h.file == 0 {
			return fmt.Errorf("a member without certificates")
		}
	}
	return nil
}

// TestTrustIsSafeAndEnds visits every state in which runs that are killed, power cuts and expired certificates can leave a
// cluster, also while the CA is replaced, or back, or a member is added. No member ever refuses another, never is a second
// one down, and the steps lead to certificates of the wanted CA alone.
func TestTrustIsSafeAndEnds(t *testing.T) {
	t.Parallel()
	starts := []trustWorld{newTrustWorld(1, 0, true), newTrustWorld(2, 0, true), newTrustWorld(3, 0, false), newTrustWorld(1, 1, true), newTrustWorld(2, 0, false), newTrustWorld(2, 1, true)}
	for _, start := range starts[:longtest.Choose(4, 5, 6)] {
		seen := map[trustWorld]bool{start: true}
		queue, ends := []trustWorld{start}, 0
		visit := func(w trustWorld, why string) {
			if err := w.refuses(); err != nil {
				t.Fatalf("%v after %s: %+v", err, why, w)
			}
			if !seen[w] {
				seen[w] = true
				queue = append(queue, w)
			}
		}
		for len(queue) > 0 {
			w := queue[0]
			queue = queue[1:]
			for _, other := range w.accidents() {
				visit(other, "an accident")
			}
			for _, goal := range []carotation.Wanted{{Issuer: "old"}, {Issuer: "new"}, {Issuer: "new", Also: []carotation.CA{"old"}}} {
				bit := caSet([]carotation.CA{goal.Issuer})
				if ends++; ends%longtest.Pick(7, 1) == 0 || start.n == 1 {
					w.checkEnd(t, goal)
				}
				if ends%longtest.Pick(28, 1) == 0 {
					w.checkIntruder(t, goal)
				}
				s := w.state(goal)
				step, err := membership.Next(s)
				if err != nil || step.Action == membership.Done {
					continue
				}
				if err := w.checkStep(step, bit); err != nil {
					t.Fatalf("%v: %+v, goal %v: %+v", err, step, goal, w)
				}
				for _, part := range w.parts(s, step) {
					visit(part, fmt.Sprintf("%+v", step))
				}
			}
		}
		t.Logf("%d hosts: %d states", start.n, len(seen))
	}
}

// checkEnd lets a run work without accidents.
func (w trustWorld) checkEnd(t *testing.T, goal carotation.Wanted) {
	t.Helper()
	first := w
	for range 12 * w.n {
		s := w.state(goal)
		step, err := membership.Next(s)
		switch {
		case err != nil && !w.outage && w.n < 3 && err.(*membership.Refusal).Kind == membership.NoMargin:
			return
		case err != nil && w.mayRefuse(caSet([]carotation.CA{goal.Issuer})):
			return
		case err != nil:
			t.Fatalf("%v: %+v, from %+v", err, w, first)
		case step.Action == membership.Done:
			for i := range w.n {
				h, issuer := w.hosts[i], caSet([]carotation.CA{goal.Issuer})
				trusted := issuer | caSet(goal.Also)
				if !w.serves(i) || h.learner || h.due || h.file != trusted || h.loaded != trusted || h.issuer != issuer {
					t.Fatalf("it ends with %+v, goal %v, from %+v", w, goal, first)
				}
			}
			return
		}
		parts := w.parts(s, step)
		w = parts[len(parts)-1]
	}
	t.Fatalf("no end: %+v, goal %v", first, goal)
}

// mayRefuse reports whether somebody is down, or has certificates that cannot be repaired by this CA.
func (w trustWorld) mayRefuse(goal cas) bool {
	broken, unaware := false, false
	for i := range w.n {
		h := w.hosts[i]
		if h.listed && h.loaded != 0 && !h.runs {
			return true
		}
		broken = broken || h.listed && h.expired || h.listed && h.loaded == 0
		unaware = unaware || h.listed && h.loaded != 0 && h.loaded&h.file&goal == 0
	}
	return broken && unaware
}
