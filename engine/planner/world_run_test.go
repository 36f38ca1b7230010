package planner_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"holdfast/engine"
	"holdfast/engine/planner"
	"holdfast/engine/planner/approval"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// simulateApply runs apply in a world: facts, plan, first batch, and again until no
// work is left. It checks every moment of the run against the laws.
func simulateApply(t *testing.T, start *world) {
	t.Helper()
	if err := tryApply(start); err != nil {
		t.Fatalf("%v\nin %s", err, start)
	}
}

func tryApply(start *world) error {
	w, end := start.clone(), start.reachableWorlds()
	approved := planner.NewPlan(w.input())
	if err := wellFormed(w, approved); err != nil {
		return err
	}
	if unsafe := end.findUnsafeHost(); (len(approved.Refusals) > 0) != (unsafe != "") {
		return fmt.Errorf("refusals are %q, and the host that is unsafe for good is %q", approved.Refusals, unsafe)
	}
	if len(approved.Refusals) > 0 {
		return nil
	}
	done := map[string]int{}
	for p := approved; len(p.Batches) > 0; p = planner.NewPlan(w.input()) {
		if len(done) > len(w.hosts) {
			return fmt.Errorf("there is no end to it")
		}
		if err := approval.CheckApproved(p, approved); err != nil {
			return err
		}
		if len(p.Refusals) > 0 {
			return fmt.Errorf("refused half way: %q", p.Refusals)
		}
		if err := playBatch(w, p.Batches[0], done); err != nil {
			return err
		}
	}
	return checkComplete(start, end, w, approved, done)
}

func playBatch(w *world, b engine.Batch, done map[string]int) error {
	if err := w.findViolation(b.Hosts...); err != nil {
		return err
	}
	if err := leftOversFirst(w, b); err != nil {
		return err
	}
	for _, h := range b.Hosts {
		if err := leaderLast(w, h); err != nil {
			return err
		}
		done[h]++
	}
	w.updateMachines(b.Hosts...)
	return nil
}

// leftOversFirst returns an error if a batch disrupts a host while a host of a
// dead run could be recovered.
func leftOversFirst(w *world, b engine.Batch) error {
	fresh := slices.ContainsFunc(b.Hosts, func(h string) bool { return !w.machine(h).leftOver() && w.machine(h).node != "not-ready" })
	for _, m := range w.hosts {
		if fresh && m.leftOver() && !slices.Contains(b.Hosts, m.name) && w.findViolation(m.name) == nil {
			return fmt.Errorf("%v go before %s, which was left behind", b.Hosts, m.name)
		}
	}
	return nil
}

// leaderLast returns an error if a leader goes down while another member could
// go.
func leaderLast(w *world, h string) error {
	m := w.machine(h)
	if m.isNonDisruptive() || m.cluster == "" || w.clusters[m.cluster].leader != h || w.clusters[m.cluster].unknown || m.leftOver() || m.node != "" {
		return nil
	}
	for _, o := range w.hosts {
		if o.cluster == m.cluster && o != m && o.unfinished() && w.findViolation(o.name) == nil {
			return fmt.Errorf("%s leads, and goes before %s", h, o.name)
		}
	}
	return nil
}

// checkComplete returns an error unless the run worked once on every host that
// some order of steps can reach, and on no other host, and the approved plan
// named these hosts.
func checkComplete(start, end, w *world, approved engine.Plan, done map[string]int) error {
	planned := map[string]int{}
	for _, b := range approved.Batches {
		for _, h := range b.Hosts {
			planned[h]++
		}
	}
	for i, m := range start.hosts {
		want := 0
		if m.unfinished() && !end.hosts[i].unfinished() {
			want = 1
		}
		if planned[m.name] != want || done[m.name] != want {
			return fmt.Errorf("%s was planned %d times and worked on %d times, not %d", m.name, planned[m.name], done[m.name], want)
		}
	}
	for _, x := range approved.Excluded {
		if got, want := x.Kind, end.exclusionOf(end.machine(x.Host)); got != want {
			return fmt.Errorf("%s is excluded as %s, not %s: %s", x.Host, got, want, x.Reason)
		}
	}
	last := planner.NewPlan(w.input())
	if got, want := last.Verdict().Exit, end.expectedExit(); got != want && !(len(last.Lanes) > 0 && got == engine.ExitWork) {
		return fmt.Errorf("exit %d at the end, not %d", got, want)
	}
	return nil
}

// findUnsafeHost returns a host that is ready, in a world where no further step
// is possible, and that its cluster cannot spare even if nobody held another
// host.
func (w *world) findUnsafeHost() string {
	for _, m := range w.hosts {
		if w.exclusionOf(m) == "" && m.mayBeChanged() && m.unfinished() {
			return m.name
		}
	}
	return ""
}

// exclusionOf returns why a machine is left out, in a world where no further
// step is possible. It returns "" if the machine is done or unsafe.
func (w *world) exclusionOf(m *machine) engine.ExclusionKind {
	switch {
	case m.lost:
		return engine.Unreachable
	case m.hold != "" && !m.leftOver():
		return engine.Held
	case !m.unfinished():
		return ""
	case m.failed:
		return engine.Failed
	case m.work == "unclear":
		return engine.Unclear
	case m.paused:
		return engine.Paused
	case m.rejected && m.hold == "":
		return engine.RolledBack
	}
	if _, early := w.tooEarly(m); early {
		return engine.Blocked
	}
	if p := w.pool(m.pool); m.disrupts() && isOutsideWindow(p) {
		return engine.Closed
	} else if m.disrupts() && m.hold == "" && w.exceedsFailureBudget(p) {
		return engine.Blocked
	}
	if m.cluster == "" || w.keepsCluster(m, nil, false) == nil {
		return engine.Blocked
	}
	if w.keepsCluster(m, nil, true) == nil {
		return engine.Held
	}
	if slices.ContainsFunc(w.hosts, func(o *machine) bool { return o.failed && o.cluster == m.cluster }) {
		return engine.Blocked
	}
	return ""
}

// waitsForHold reports whether a machine could go if nobody held the machines outside the limit.
func (w *world) waitsForHold(m *machine) bool {
	free := *w
	free.hosts = slices.Clone(w.hosts)
	for i, o := range free.hosts {
		if o.ignored && o.hold != "" && !o.lost {
			released := *o
			released.hold = ""
			free.hosts[i] = &released
		}
	}
	return free.findViolation(m.name) == nil
}

// isUnhealthy reports whether a cluster has a problem other than members whose
// hosts somebody holds.
func (w *world) isUnhealthy(name string) bool {
	return w.clusters[name].alarm || w.clusters[name].learner ||
		slices.ContainsFunc(w.hosts, func(m *machine) bool { return m.cluster == name && m.sick && (m.hold == "" || m.lost) })
}

// expectedExit returns the exit code for a world where no further step is
// possible.
func (w *world) expectedExit() engine.ExitCode {
	fates := map[engine.ExclusionKind]bool{}
	for _, m := range w.hosts {
		if !m.ignored {
			fate := w.exclusionOf(m)
			if fate == engine.Blocked && w.waitsForHold(m) {
				fate = engine.Held
			}
			fates[fate] = true
			if c := w.clusters[m.cluster]; c != nil && !c.unknown && w.isUnhealthy(m.cluster) {
				return 3
			}
		}
	}
	for _, c := range []struct {
		why  engine.ExclusionKind
		code int
	}{{engine.Unclear, 3}, {engine.Failed, 3}, {engine.RolledBack, 3}, {engine.Held, 4}, {engine.Paused, 4}, {engine.Closed, 4}, {engine.Unreachable, 5}, {engine.Blocked, 3}} {
		if fates[c.why] {
			return engine.ExitCode(c.code)
		}
	}
	return 0
}

func (w *world) String() string {
	s := "this world:\n"
	for _, p := range w.pools {
		s += fmt.Sprintf("  pool %s after %v, max_unavailable %s, failure_budget %v, canary %v, closed %t\n", p.Name, p.After, p.MaxUnavailable, p.FailureBudget, p.Canary, isOutsideWindow(p))
	}
	for _, name := range sortedKeys(w.clusters) {
		s += fmt.Sprintf("  cluster %s %+v\n", name, *w.clusters[name])
	}
	for _, m := range w.hosts {
		s += fmt.Sprintf("  %+v\n", *m)
	}
	return s
}

// wellFormed returns an error if the plan breaks a rule in the documentation of
// engine.Plan.
func wellFormed(w *world, p engine.Plan) error {
	place, waits := map[string]string{}, map[string]bool{}
	put := func(host, where string) error {
		if place[host] != "" {
			return fmt.Errorf("%s is both %s and %s", host, place[host], where)
		}
		place[host] = where
		return nil
	}
	for _, h := range p.Matching {
		if err := put(h, "matching"); err != nil {
			return err
		}
	}
	for _, x := range p.Excluded {
		if x.Kind == engine.Closed {
			waits[x.Host] = true
			continue
		}
		if err := put(x.Host, "excluded"); err != nil {
			return err
		}
	}
	for _, hp := range p.Hosts {
		if err := put(hp.Host, "work"); err != nil {
			return err
		}
	}
	for _, m := range w.hosts {
		if (place[m.name] == "") != m.ignored {
			return fmt.Errorf("%s is neither matching, work nor excluded: %q", m.name, place[m.name])
		}
	}
	return wellOrdered(w, p, place, waits)
}

func wellOrdered(w *world, p engine.Plan, place map[string]string, waits map[string]bool) error {
	if len(p.Refusals) > 0 && len(p.Batches)+len(p.Lanes)+len(p.Before) > 0 {
		return fmt.Errorf("a refused plan does something")
	}
	batched, laned, disrupted := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, b := range p.Batches {
		for _, h := range b.Hosts {
			if batched[h] || place[h] != "work" {
				return fmt.Errorf("%s is in a batch twice, or has no plan", h)
			}
			batched[h] = true
			if m := w.machine(h); m.cluster != "" && m.disrupts() {
				disrupted[m.cluster] = true
			}
		}
	}
	lanes := map[string]bool{}
	for _, l := range p.Lanes {
		if l.Cluster != "" && lanes[l.Cluster] {
			return fmt.Errorf("cluster %s has two lanes", l.Cluster)
		}
		lanes[l.Cluster] = true
		for i, h := range l.Hosts {
			m := w.machine(h)
			leads := m.cluster != "" && w.clusters[m.cluster].leader == h && !w.clusters[m.cluster].unknown
			if laned[h] || !batched[h] && !waits[h] || m.cluster != l.Cluster || leads && i != len(l.Hosts)-1 {
				return fmt.Errorf("lane %v is wrong about %s", l, h)
			}
			laned[h] = true
		}
		if l.Cluster == "" && len(l.Hosts) != 1 {
			return fmt.Errorf("lane %v has hosts that could be staged side by side", l)
		}
	}
	for _, hp := range p.Hosts {
		if len(p.Refusals) == 0 && (batched[hp.Host] == waits[hp.Host] || laned[hp.Host] != (len(hp.Stage) > 0)) {
			return fmt.Errorf("%s has a plan, but no batch or no lane", hp.Host)
		}
	}
	if len(p.Before) != len(disrupted) {
		return fmt.Errorf("%d snapshots for %d disrupted clusters", len(p.Before), len(disrupted))
	}
	return nil
}
