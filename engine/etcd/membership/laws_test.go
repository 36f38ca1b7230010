package membership_test

import (
	"maps"
	"slices"
	"testing"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/longtest"
)

// voterKind is a voter of a world at the beginning: its condition, and what the inventory and the operator say of it.
type voterKind struct {
	condition, role string
}

func (w *world) addVoter(k voterKind) {
	m := w.addMachine(machine{runs: true, apart: k.condition == "cut off", retired: k.role == "retired", unlisted: k.role == "unlisted" || k.role == "unlisted, named"})
	p := w.addPeer(m.name, false, true)
	m.disk = p.id
	switch k.condition {
	case "dead":
		m.disk, m.runs = "", false
	case "replaced":
		m.disk, m.runs = foreign, false
	case "stopped":
		m.runs = false
	}
	if k.role == "named" || k.role == "unlisted, named" {
		w.named = append(w.named, p.id)
	}
}

// obstacles returns the causes for which a voter alone stands in the way.
func (k voterKind) obstacles() []membership.RefusalKind {
	switch {
	case k.role == "unlisted":
		return []membership.RefusalKind{membership.UnclaimedMember}
	case k.role == "named" && k.condition == "healthy":
		return []membership.RefusalKind{membership.HealthyNamed}
	case k.role == "named" && k.condition == "cut off":
		return []membership.RefusalKind{membership.HostNotReady} // it is removed; its host cannot have a new one
	case k.role == "named" && (k.condition == "replaced" || k.condition == "stopped"):
		return nil // the record of the removal lets the run set the data aside
	case k.role == "unlisted, named", k.condition == "healthy", k.condition == "dead":
		return nil
	}
	return []membership.RefusalKind{membership.UnhealthyVoter} // cut off, stopped, or with data of which nobody knows whose they are
}

// The other things of a world at the beginning, each with the causes for which it stands in the way.
var learnerKinds = map[string]struct {
	add       func(*world)
	obstacles []membership.RefusalKind
}{
	"none": {func(*world) {}, nil},
	"recorded only": {func(w *world) {
		w.addMachine(machine{record: membership.Adding})
	}, nil},
	"not started": {func(w *world) {
		w.addPeer(w.addMachine(machine{record: membership.Adding}).name, true, false)
	}, nil},
	"started": {func(w *world) {
		w.addStartedLearner(machine{record: membership.Adding, runs: true})
	}, nil},
	"stopped": {func(w *world) {
		w.addStartedLearner(machine{record: membership.Adding})
	}, nil},
	"disk lost": {func(w *world) {
		w.addStartedLearner(machine{record: membership.Adding, runs: true}).disk = ""
	}, nil},
	"other data": {func(w *world) {
		w.addStartedLearner(machine{record: membership.Adding}).disk = foreign
	}, []membership.RefusalKind{membership.HostNotReady}},
	"too slow": {func(w *world) {
		w.addStartedLearner(machine{record: membership.Adding, runs: true, slow: true})
	}, []membership.RefusalKind{membership.HostNotReady}},
	"host retired since": {func(w *world) {
		w.addStartedLearner(machine{record: membership.Adding, runs: true, retired: true})
	}, nil},
	"host retired since, cut off": {func(w *world) {
		w.addStartedLearner(machine{record: membership.Adding, runs: true, retired: true, apart: true})
	}, nil},
	"cut off": {func(w *world) {
		w.addStartedLearner(machine{record: membership.Adding, runs: true, apart: true})
	}, []membership.RefusalKind{membership.HostNotReady}},
	"of another host": {func(w *world) {
		w.addPeer(w.addMachine(machine{unlisted: true}).name, true, false)
	}, []membership.RefusalKind{membership.UnclaimedMember}},
	"of another host, named": {func(w *world) {
		w.named = append(w.named, w.addPeer(w.addMachine(machine{unlisted: true}).name, true, false).id)
	}, nil},
	"two": {func(w *world) {
		w.addPeer(w.addMachine(machine{record: membership.Adding}).name, true, false)
		w.addStartedLearner(machine{runs: true})
	}, []membership.RefusalKind{membership.SeveralLearners}},
	"removal cut short, stopped since": {func(w *world) {
		h := w.addStartedLearner(machine{record: membership.Removing, retired: true})
		w.peerOn(h.name).learner = false
	}, []membership.RefusalKind{membership.UnhealthyVoter}},
	"removed, data not set aside": {func(w *world) {
		w.addMachine(machine{record: membership.Removing, disk: "m99", runs: true, retired: true})
	}, nil},
	"promoted, record not removed": {func(w *world) {
		w.addStartedLearner(machine{record: membership.Adding, runs: true})
		w.members[len(w.members)-1].learner = false
	}, nil},
}

func (w *world) addStartedLearner(m machine) *machine {
	h := w.addMachine(m)
	h.disk = w.addPeer(h.name, true, true).id
	return h
}

// freshKinds are hosts that are to have a voter and have none.
var freshKinds = []struct {
	machine   machine
	obstacles []membership.RefusalKind
}{
	{machine{}, nil},
	{machine{apart: true}, []membership.RefusalKind{membership.HostNotReady}},
	{machine{disk: foreign}, []membership.RefusalKind{membership.HostNotReady}},
	{machine{record: membership.Removing, disk: "m98"}, nil},
	{machine{replaced: true, runs: true, disk: "m97"}, nil}, // it was away while the cluster was restored
}

func allVoterKinds() (all []voterKind) {
	for _, c := range []string{"healthy", "dead", "cut off", "stopped", "replaced"} {
		for _, r := range []string{"wanted", "retired", "named", "unlisted", "unlisted, named"} {
			all = append(all, voterKind{c, r})
		}
	}
	return all
}

// TestLaws lets a run change every cluster: up to seven voters of every condition and role × learners × new hosts. Runs are
// killed never, after every step, and in the middle of every step. By default, it takes every 13th world.
func TestLaws(t *testing.T) {
	t.Parallel()
	all := allVoterKinds()
	few := []voterKind{{"healthy", "wanted"}, {"healthy", "retired"}, {"dead", "wanted"}, {"cut off", "retired"}, {"stopped", "named"}}
	names := slices.Sorted(maps.Keys(learnerKinds))
	worlds, tried := 0, 0
	try := func(kinds []voterKind, fresh [][]int) func([]int) {
		return func(voters []int) {
			if len(voters) == 0 {
				return
			}
			for _, learner := range names {
				for _, hosts := range fresh {
					for mode := range 3 {
						if worlds++; worlds%longtest.Choose(37, 13, 1) == 0 {
							tried++
							tryWorld(t, kinds, voters, learner, hosts, mode)
						}
					}
				}
			}
		}
	}
	var one, several [][]int
	longtest.Multisets(len(freshKinds), 1, func(h []int) { one = append(one, slices.Clone(h)) })
	longtest.Multisets(len(freshKinds), 2, func(h []int) { several = append(several, slices.Clone(h)) })
	for n := 3; n <= 7; n++ {
		several = append(several, make([]int, n))
	}
	longtest.Multisets(len(all), longtest.Pick(2, 4), try(all, one))
	longtest.Multisets(len(few), longtest.Pick(4, 7), try(few, several))
	for n := 5; n <= 7; n++ {
		for bits := range 1 << n { // healthy, some retired; and one dead or cut off
			for odd := range len(few) {
				kinds := make([]int, n)
				for i := range kinds {
					kinds[i] = bits >> i & 1
				}
				kinds[0] = odd
				try(few, several[len(several)-5:][:longtest.Pick(1, 5)])(kinds)
			}
		}
	}
	t.Logf("%d of %d worlds", tried, worlds)
}

// TestLawsOfMoreVoters lets a run change clusters of five to seven voters of every condition and role. TestLaws has fewer kinds of
// voters there. Learners, new hosts and kills alternate, so that each set of voters is tried with one of each.
func TestLawsOfMoreVoters(t *testing.T) {
	t.Parallel()
	longtest.SkipSlow(t)
	all, names, worlds := allVoterKinds(), slices.Sorted(maps.Keys(learnerKinds)), 0
	var fresh [][]int
	longtest.Multisets(len(freshKinds), 2, func(h []int) { fresh = append(fresh, slices.Clone(h)) })
	longtest.Multisets(len(all), longtest.Pick(5, 7), func(voters []int) {
		if len(voters) < 5 {
			return
		}
		worlds++
		tryWorld(t, all, voters, names[worlds%len(names)], fresh[worlds/len(names)%len(fresh)], worlds/len(names)/len(fresh)%3)
	})
	t.Logf("%d worlds", worlds)
}

// The modes of a run that is killed.
const (
	neverKilled = iota
	killedBetween
	killedWithin
)

func tryWorld(t *testing.T, kinds []voterKind, voters []int, learner string, fresh []int, mode int) {
	t.Helper()
	w := newWorld()
	var obstacles []membership.RefusalKind
	for _, v := range voters {
		w.addVoter(kinds[v])
		obstacles = append(obstacles, kinds[v].obstacles()...)
	}
	learnerKinds[learner].add(w)
	obstacles = append(obstacles, learnerKinds[learner].obstacles...)
	for _, f := range fresh {
		w.addMachine(freshKinds[f].machine)
		obstacles = append(obstacles, freshKinds[f].obstacles...)
	}
	if all, serving := w.tally(); 2*serving <= all {
		obstacles = append(obstacles, membership.QuorumLost)
	}
	settings, mayLackMargin := w.setSettings(learner, mode)
	obstacles = append(obstacles, settings...)
	wanted := 0
	for _, m := range w.hosts {
		if !m.unlisted && !m.retired {
			wanted++
		}
	}
	if wanted == 0 {
		obstacles = append(obstacles, membership.NothingWanted)
	}
	w.cutShort = mode == killedWithin
	refusal := w.play(t, mode == killedBetween)
	if refusal == nil {
		if len(obstacles) > 0 {
			t.Fatalf("it ends although %v stands in the way\n%s", obstacles, w)
		}
		w.checkEnd(t)
		return
	}
	if !slices.Contains(obstacles, refusal.Kind) && (refusal.Kind != membership.NoMargin || !mayLackMargin) {
		t.Fatalf("it refuses (%s: %v), but only %v stands in the way\n%s", refusal.Kind, refusal, obstacles, w)
	}
}

// setSettings gives some hosts of the world other settings than the inventory has. It returns the causes for which these stand in
// the way, and whether the quorum may need a voter that must restart for them. Which ones follows from the world, so that there
// are no more worlds.
func (w *world) setSettings(learner string, mode int) (obstacles []membership.RefusalKind, mayLackMargin bool) {
	kinds := []string{"", "old", "", "old", "harmful", "fixed"}
	differ := len(w.hosts) + len(learner) + mode
	w.outage = differ%7 == 0
	for i, m := range w.hosts {
		p := w.peerOn(m.name)
		if p == nil || !w.serves(p) || p.learner {
			continue
		}
		m.settings = kinds[(differ+i*(differ/len(kinds)))%len(kinds)]
		switch {
		case !w.stays(p):
		case m.settings == "harmful":
			obstacles = append(obstacles, membership.SettingsClash)
		case m.settings == "fixed":
			obstacles = append(obstacles, membership.SettingFixed)
		case m.settings == "old":
			mayLackMargin = !w.outage
		}
	}
	return obstacles, mayLackMargin
}

// checkEnd states what is true of a cluster that has the members that it should have.
func (w *world) checkEnd(t *testing.T) {
	t.Helper()
	for _, m := range w.hosts {
		p := w.peerOn(m.name)
		switch {
		case m.unlisted || m.retired:
			if p != nil || !m.apart && m.record != membership.NoRecord {
				t.Fatalf("%s still has a member or a record\n%s", m.name, w)
			}
		case p == nil || p.learner || !w.serves(p) || m.settings != "" || m.record != membership.NoRecord:
			t.Fatalf("%s has no voter that serves, or a record\n%s", m.name, w)
		}
	}
}

// TestLawsOfNewClusters: a cluster comes from nothing only where nothing can be left of another one.
func TestLawsOfNewClusters(t *testing.T) {
	t.Parallel()
	kinds := []struct {
		machine machine
		fine    bool
	}{
		{machine{}, true},
		{machine{retired: true}, true},
		{machine{record: membership.Creating}, true}, // of a run that was killed
		{machine{apart: true}, false},
		{machine{disk: foreign}, false},
		{machine{disk: "m1"}, false},
		{machine{record: membership.Removing}, false},
		{machine{record: membership.Restoring}, false},
		{machine{replaced: true, disk: "m1"}, false},
		{machine{runs: true}, false},
	}
	longtest.Multisets(len(kinds), longtest.Pick(5, 7), func(chosen []int) {
		for mode := range 3 {
			w, fine, wanted, creating := newWorld(), true, 0, 0
			for _, k := range chosen {
				w.addMachine(kinds[k].machine)
				fine = fine && kinds[k].fine
				if !kinds[k].machine.retired {
					wanted++
				}
				if kinds[k].machine.record == membership.Creating {
					creating++
				}
			}
			if creating > 1 { // two runs, each of which had begun one cluster, do not exist: the first host is always the same
				continue
			}
			w.cutShort = mode == killedWithin
			refusal := w.play(t, mode == killedBetween)
			switch {
			case wanted == 0 && (refusal == nil || refusal.Kind != membership.NothingWanted):
				t.Fatalf("%v\n%s", refusal, w)
			case wanted > 0 && fine != (refusal == nil):
				t.Fatalf("%v\n%s", refusal, w)
			case refusal == nil:
				w.checkEnd(t)
			}
		}
	})
}
