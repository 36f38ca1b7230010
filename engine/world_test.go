package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
)

// world is a site as it really is, of which a planner sees only facts. What
// may happen in it is written down here once more, in the words of an
// operator who counts machines: it shares no code with the planner.
type world struct {
	pools    []engine.Pool
	clusters map[string]*etcd
	hosts    []*machine
}

type etcd struct {
	leader      string
	learner     bool // a further member that does not vote yet
	alarm       bool
	unknown     bool // cannot be observed
	allowOutage bool
}

type machine struct {
	name, pool, cluster, zone string

	work    string // "", reboot, restart, quiet, or unclear
	hold    string // "", foreign, maintenance, unreadable, dead, expired or own
	lost    bool   // cannot be reached
	sick    bool   // its etcd member is not healthy
	ignored bool   // outside --limit
}

const (
	thisRun = "run-now"
	deadRun = "run-dead"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (m *machine) leftOver() bool { return m.hold == "dead" || m.hold == "expired" || m.hold == "own" }

// ours reports whether this run may do anything to the machine at all.
func (m *machine) ours() bool {
	return !m.ignored && !m.lost && m.work != "unclear" && (m.hold == "" || m.leftOver())
}

// quiet reports whether the machine does not notice what is done to it.
func (m *machine) quiet() bool { return m.work == "quiet" && m.hold == "" }

func (m *machine) disrupts() bool { return m.work == "reboot" || m.work == "restart" }

func (m *machine) unfinished() bool { return m.work != "" || m.hold != "" || m.lost }

// unavailable reports whether the machine is lost to its users, or may be.
func (m *machine) unavailable() bool { return m.lost || m.hold != "" }

func (w *world) machine(name string) *machine {
	for _, m := range w.hosts {
		if m.name == name {
			return m
		}
	}
	return nil
}

func (w *world) pool(name string) engine.Pool {
	for _, p := range w.pools {
		if p.Name == name {
			return p
		}
	}
	return engine.Pool{}
}

// allowed says which law forbids that these machines go down together now.
func (w *world) allowed(names ...string) error {
	for _, name := range names {
		m := w.machine(name)
		if !m.ours() || !m.unfinished() {
			return fmt.Errorf("%s is not to be touched", name)
		}
		if p, ok := w.tooEarly(m); ok {
			return fmt.Errorf("%s goes before pool %s is complete", name, p)
		}
		if m.cluster != "" {
			if err := w.keepsCluster(m, names, false); err != nil {
				return err
			}
		}
	}
	for _, p := range w.pools {
		if err := w.keepsPool(p, names); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) tooEarly(m *machine) (string, bool) {
	if m.work == "" {
		return "", false // it is only brought back
	}
	todo, seen := slices.Clone(w.pool(m.pool).After), map[string]bool{}
	for len(todo) > 0 {
		p := todo[0]
		todo = append(todo[1:], w.pool(p).After...)
		if seen[p] {
			continue
		}
		seen[p] = true
		for _, o := range w.hosts {
			if o.pool == p && !o.ignored && o.unfinished() {
				return p, true
			}
		}
	}
	return "", false
}

var errTwoMembers = errors.New("two members of one etcd cluster at once")

// keepsCluster says why the machine's cluster cannot spare it. forgiving
// imagines that everyone else gave their holds back and all were well there.
func (w *world) keepsCluster(m *machine, together []string, forgiving bool) error {
	voters, standing := 0, 0
	for _, o := range w.hosts {
		if o.cluster != m.cluster {
			continue
		}
		if o != m && slices.Contains(together, o.name) && !(m.quiet() && o.quiet()) {
			return errTwoMembers
		}
		voters++
		notOurs := !o.lost && o.hold != "" && (o.ignored || !o.leftOver() || o.work == "unclear")
		up := !o.sick && !o.unavailable() || forgiving && notOurs
		switch {
		case o == m:
		case up:
			standing++
		case m.disrupts():
			return fmt.Errorf("%s goes down while %s is not well", m.name, o.name)
		}
	}
	c := w.clusters[m.cluster]
	switch {
	case !m.disrupts():
		return nil
	case c.learner || c.alarm || c.unknown:
		return fmt.Errorf("%s goes down while its cluster is not in order", m.name)
	case standing*2 <= voters && (voters > 2 || !c.allowOutage):
		return fmt.Errorf("%s goes down and leaves %d of %d voters", m.name, standing, voters)
	}
	return nil
}

// keepsPool counts the machines of a pool that would be unavailable.
func (w *world) keepsPool(p engine.Pool, names []string) error {
	size, before, given, after, again := 0, 0, 0, 0, 0
	zones := map[string]bool{}
	for _, m := range w.hosts {
		if m.pool != p.Name {
			continue
		}
		size++
		goes := slices.Contains(names, m.name) && m.disrupts()
		if goes {
			zones[m.zone] = true
		}
		if m.unavailable() {
			before++
			if !m.ours() {
				given++
			} else if goes {
				again++
			}
		}
		if m.unavailable() || goes {
			after++
		}
	}
	limit := max(1, p.MaxUnavailable.Count)
	if p.MaxUnavailable.Percent > 0 {
		limit = max(1, p.MaxUnavailable.Percent*size/100)
	}
	switch {
	case len(zones) > 1:
		return fmt.Errorf("pool %s loses hosts in %d zones at once", p.Name, len(zones))
	case after > before && after > limit:
		return fmt.Errorf("pool %s is without %d hosts, its budget is %d", p.Name, after, limit)
	case again > 1 && given+again > limit:
		return fmt.Errorf("pool %s has %d left-over hosts disrupted at once beside %d others, its budget is %d", p.Name, again, given, limit)
	}
	return nil
}

// update is what becomes of machines that a run has worked on.
func (w *world) update(names ...string) {
	for _, name := range names {
		m := w.machine(name)
		c := w.clusters[m.cluster]
		if c != nil && c.leader == name && m.disrupts() {
			w.elect(c, m)
		}
		m.work, m.hold, m.sick = "", "", false
	}
}

func (w *world) elect(c *etcd, gone *machine) {
	c.leader = ""
	for _, m := range w.hosts {
		if m.cluster == gone.cluster && m != gone && !m.sick && !m.lost {
			c.leader = m.name
		}
	}
}

func (w *world) clone() *world {
	c := &world{pools: w.pools, clusters: map[string]*etcd{}}
	for name, e := range w.clusters {
		copied := *e
		c.clusters[name] = &copied
	}
	for _, m := range w.hosts {
		copied := *m
		c.hosts = append(c.hosts, &copied)
	}
	return c
}

// reachable takes every step that no law forbids, one machine at a time, and
// gives the world in which no further step is left. A step never spoils
// another, so that the order does not matter.
func (w *world) reachable() *world {
	end := w.clone()
	for moved := true; moved; {
		moved = false
		for _, m := range end.hosts {
			if m.unfinished() && end.allowed(m.name) == nil {
				end.update(m.name)
				moved = true
			}
		}
	}
	return end
}
