package planner_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
)

// world is the true state of a site, of which a planner sees only facts. The
// methods of world decide which steps are allowed, by counting machines as an
// operator does. These methods share no code with the planner.
type world struct {
	pools    []engine.Pool
	clusters map[string]*etcd
	hosts    []*machine
	site     engine.CountOrPercent
	repair   []string // machines that may be disrupted although their member is down
}

type etcd struct {
	leader      string
	learner     bool // the cluster has a further member that does not vote yet
	alarm       bool
	unknown     bool // the cluster cannot be observed
	allowOutage bool
}

type machine struct {
	name, pool, cluster, zone string

	work    string // "", reboot, restart, quiet, or unclear
	hold    string // "", foreign, maintenance, unreadable, dead, expired or own
	lost    bool   // cannot be reached
	sick    bool   // its etcd member is not healthy
	node    string // "", cordoned (by a person, who leaves it so), deleted or not-ready
	ignored bool   // outside --limit

	failed   bool // failed in this run
	paused   bool
	rejected bool // rolled back from its desired OS
}

const (
	thisRun = "run-now"
	deadRun = "run-dead"

	thisBastion = "b1"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (m *machine) leftOver() bool { return m.hold == "dead" || m.hold == "expired" || m.hold == "own" }

// mayBeChanged reports whether this run may change the machine at all.
func (m *machine) mayBeChanged() bool {
	return !m.ignored && !m.lost && !m.paused && !m.hasFailed() && (m.hold == "" || m.leftOver())
}

// hasFailed reports whether the machine failed and no run tries it again.
func (m *machine) hasFailed() bool {
	if m.lost || m.hold != "" && !m.leftOver() {
		return m.failed
	}
	return m.work == "unclear" || m.work != "" && (m.failed || m.rejected && !m.paused && m.hold == "") || m.failed && m.hold != ""
}

func (m *machine) isNonDisruptive() bool { return m.work == "quiet" && m.hold == "" }

func (m *machine) disrupts() bool { return m.work == "reboot" || m.work == "restart" }

func (m *machine) unfinished() bool { return m.work != "" || m.hold != "" || m.lost }

// taken reports whether the users of the machine have lost it, or may have.
func (m *machine) isTaken() bool { return m.lost || m.hold != "" }

// unavailable reports whether the machine is no longer, or not fully, of use.
func (m *machine) isUnavailable() bool { return m.isTaken() || m.node != "" }

// empty reports whether the machine does no work any more, so that nobody misses it. A cordoned node still runs its pods.
func (m *machine) isEmpty() bool { return m.isTaken() || m.node == "not-ready" }

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

// findViolation returns the rule that forbids these machines to go down
// together now.
func (w *world) findViolation(names ...string) error {
	for _, name := range names {
		m := w.machine(name)
		if !m.mayBeChanged() || !m.unfinished() {
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
		if err := w.keepsPace(p, names); err != nil {
			return err
		}
	}
	if w.site.Set {
		return w.keepsBudget("the site", w.site, names, func(*machine) bool { return true })
	}
	return nil
}

// closed is a window that is not open now, and open is a window that is.
var (
	closed = engine.Window{FromMinutes: 60, ToMinutes: 120}
	open   = engine.Window{FromMinutes: 600, ToMinutes: 900}
)

func isOutsideWindow(p engine.Pool) bool {
	return len(p.Windows) == 1 && p.Windows[0].FromMinutes == closed.FromMinutes
}

// exceedsFailureBudget reports whether so many hosts of a pool have failed that
// no other host may start.
func (w *world) exceedsFailureBudget(p engine.Pool) bool {
	size, broken := 0, 0
	for _, m := range w.hosts {
		if m.pool == p.Name {
			size++
			goneBack := !m.lost && m.work != "" && m.rejected && !m.paused && m.leftOver() // held or not
			if m.failed || (m.hasFailed() || goneBack) && !m.ignored {                     // a host that failed in this run counts, even if it matches, or is of an earlier play
				broken++
			}
		}
	}
	return broken > p.FailureBudget.Count && broken*100 > p.FailureBudget.Percent*size
}

// keepsPace returns an error if the window, the failure budget or the canaries
// of the pool forbid these machines to go.
func (w *world) keepsPace(p engine.Pool, names []string) error {
	anew, proven := 0, 0
	for _, m := range w.hosts {
		switch {
		case m.pool != p.Name:
		case m.work == "" && m.hold == "" && !m.lost:
			proven++
		case !slices.Contains(names, m.name) || !m.disrupts():
		case isOutsideWindow(p):
			return fmt.Errorf("%s goes outside its window", m.name)
		case m.hold != "": // the machine is disrupted already
		case w.exceedsFailureBudget(p):
			return fmt.Errorf("%s goes although others have failed", m.name)
		default:
			anew++
		}
	}
	if c := p.Canary; c != nil && proven < c.Hosts.Count && anew > c.Hosts.Count-proven {
		return fmt.Errorf("pool %s has %d canaries, and %d go beside %d", p.Name, c.Hosts.Count, anew, proven)
	}
	return nil
}

func (w *world) tooEarly(m *machine) (string, bool) {
	if m.work == "" || m.leftOver() {
		return "", false // the machine is disrupted already
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

// keepsCluster returns an error if the machine's cluster cannot spare it. With
// forgiving, every machine that somebody else holds counts as released and
// healthy.
func (w *world) keepsCluster(m *machine, together []string, forgiving bool) error {
	voters, standing := 0, 0
	for _, o := range w.hosts {
		if o.cluster != m.cluster {
			continue
		}
		if o != m && slices.Contains(together, o.name) && !(m.isNonDisruptive() && o.isNonDisruptive()) {
			return errTwoMembers
		}
		voters++
		notOurs := !o.lost && o.hold != "" && (o.ignored || !o.leftOver() || o.paused && !o.failed || o.work == "unclear" && !o.failed)
		up := !o.sick && !o.isTaken() || forgiving && notOurs
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
	case m.sick && m.hold == "" && !slices.Contains(w.repair, m.name):
		return fmt.Errorf("%s goes down although its member is down already, and nobody said so", m.name)
	case c.learner || c.alarm || c.unknown:
		return fmt.Errorf("%s goes down while its cluster is not in order", m.name)
	case standing*2 <= voters && (voters > 2 || !c.allowOutage):
		return fmt.Errorf("%s goes down and leaves %d of %d voters", m.name, standing, voters)
	}
	return nil
}

// keepsPool returns an error if these machines span two zones or exceed the
// budget of the pool.
func (w *world) keepsPool(p engine.Pool, names []string) error {
	zones := map[string]bool{}
	for _, m := range w.hosts {
		if m.pool == p.Name && slices.Contains(names, m.name) && m.disrupts() {
			zones[m.zone] = true
		}
	}
	if len(zones) > 1 {
		return fmt.Errorf("pool %s loses hosts in %d zones at once", p.Name, len(zones))
	}
	return w.keepsBudget("pool "+p.Name, p.MaxUnavailable, names, func(m *machine) bool { return m.pool == p.Name })
}

// keepsBudget returns an error if more machines of one kind would be
// unavailable than the budget allows.
func (w *world) keepsBudget(what string, l engine.CountOrPercent, names []string, of func(*machine) bool) error {
	size, before, given, after, again, emptyBefore, emptyAfter := 0, 0, 0, 0, 0, 0, 0
	for _, m := range w.hosts {
		if !of(m) {
			continue
		}
		size++
		goes := slices.Contains(names, m.name) && m.disrupts()
		if m.isUnavailable() {
			before++
			if !m.mayBeChanged() || !m.unfinished() {
				given++
			} else if goes && m.isEmpty() {
				again++
			}
		}
		if m.isEmpty() {
			emptyBefore++
		}
		if m.isEmpty() || goes {
			emptyAfter++
		}
		if m.isUnavailable() || goes {
			after++
		}
	}
	limit := max(1, l.Count)
	if l.Percent > 0 {
		limit = max(1, l.Percent*size/100)
	}
	switch {
	case after > before && after > limit:
		return fmt.Errorf("%s is without %d hosts, its budget is %d", what, after, limit)
	case emptyAfter > emptyBefore && emptyAfter > limit:
		return fmt.Errorf("%s has %d hosts without any work, its budget is %d", what, emptyAfter, limit)
	case again > 1 && given+again > limit:
		return fmt.Errorf("%s has %d left-over hosts disrupted at once beside %d others, its budget is %d", what, again, given, limit)
	}
	return nil
}

// updateMachines sets the state of machines after a run has worked on them.
func (w *world) updateMachines(names ...string) {
	for _, name := range names {
		m := w.machine(name)
		c := w.clusters[m.cluster]
		if c != nil && c.leader == name && m.disrupts() {
			w.electLeader(c, m)
		}
		if m.node == "not-ready" || m.node == "cordoned" && m.leftOver() { // the dead run has cordoned it
			m.node = ""
		}
		m.work, m.hold, m.sick = "", "", false
	}
}

func (w *world) electLeader(c *etcd, gone *machine) {
	c.leader = ""
	for _, m := range w.hosts {
		if m.cluster == gone.cluster && m != gone && !m.sick && !m.lost {
			c.leader = m.name
		}
	}
}

func (w *world) clone() *world {
	c := &world{pools: w.pools, site: w.site, repair: w.repair, clusters: map[string]*etcd{}}
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

// reachableWorlds takes every step that no rule forbids, one machine at a time,
// and returns the world in which no further step is left. The order of the
// steps does not matter, because no step forbids another.
func (w *world) reachableWorlds() *world {
	end := w.clone()
	for moved := true; moved; {
		moved = false
		for _, m := range end.hosts {
			if m.unfinished() && end.findViolation(m.name) == nil {
				end.updateMachines(m.name)
				moved = true
			}
		}
	}
	return end
}
