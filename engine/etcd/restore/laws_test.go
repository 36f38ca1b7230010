package restore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/etcd/restore"
	"holdfast/engine/longtest"
)

// When a run is killed.
const (
	neverKilled   = ""
	killedBetween = "between"
	killedWithin  = "within"
)

// kinds are the states of a voter at the beginning. "said" means that a person has named the voter with --lost.
var kinds = []string{"serves", "stopped", "disk lost", "cut off", "gone, said", "unlisted", "unlisted, gone, said", "retired, stopped", "unfit, disk lost"}

func newWorld(snapshot bool, kill string, voters []int, spare bool) *world {
	w := &world{kill: kill, cut: map[string]bool{}, checked: map[string]bool{}, cleaned: map[string]bool{}, failed: map[string]bool{}}
	for i, k := range voters {
		m := &machine{name: fmt.Sprintf("h%d", i), revision: int64(100 + i), runs: true, disk: fmt.Sprintf("m%d", i)}
		w.voters = append(w.voters, m.disk)
		kind := kinds[k]
		has := func(word string) bool { return slices.Contains(strings.Split(kind, ", "), word) }
		m.unlisted, m.apart, m.gone, m.retired, m.unfit = has("unlisted"), has("cut off"), has("gone"), has("retired"), has("unfit")
		if has("stopped") {
			m.runs = false
		}
		if has("disk lost") {
			m.runs, m.disk, m.revision = true, "", 0 // its unit tries to start etcd again and again
		}
		if has("said") {
			w.lost = append(w.lost, "name-"+m.disk)
			if !m.unlisted {
				w.lost = append(w.lost, m.name)
			}
		}
		m.diskAtFirst, m.certified = m.disk, m.disk != ""
		w.hosts = append(w.hosts, m)
	}
	if spare {
		w.hosts = append(w.hosts, &machine{name: "spare"})
	}
	if snapshot {
		w.snapshot = &restore.Source{Identity: "sha", Path: "x.db", Data: restore.Data{Revision: 50, Members: w.members()}}
	}
	return w
}

// obstacles returns the kinds of refusals that are right in this world.
func (w *world) obstacles() []restore.RefusalKind {
	var list []restore.RefusalKind
	source, host := false, false
	for _, m := range w.hosts {
		reachable := !m.apart && !m.gone && !m.unlisted
		said := slices.Contains(w.lost, m.name) || slices.Contains(w.lost, "name-"+m.diskAtFirst)
		if m.apart || m.unlisted && !said {
			list = append(list, restore.QuorumMayLive)
		}
		source = source || reachable && m.disk != ""
		host = host || reachable && !m.unfit && !m.retired
	}
	switch quorum := len(w.voters)/2 + 1; {
	case w.serving() >= quorum:
		list = append(list, restore.QuorumLives)
	case w.mayServe() >= quorum:
		list = append(list, restore.QuorumMayLive)
	}
	if w.snapshot == nil && !source {
		list = append(list, restore.NoSource)
	}
	if w.snapshot != nil && !host {
		list = append(list, restore.NoHost)
	}
	if w.snapshot != nil && !source && !slices.ContainsFunc(w.hosts, func(m *machine) bool { return !m.unlisted && m.name != "spare" }) {
		list = append(list, restore.Foreign)
	}
	return list
}

// TestLaws restores every cluster of up to four voters (seven in a long test) in every condition, from its data and
// from a snapshot. Each run is killed never, after each step, or within each step.
func TestLaws(t *testing.T) {
	t.Parallel()
	ended, refused := 0, map[restore.RefusalKind]int{}
	longtest.Multisets(len(kinds), longtest.Pick(4, 7), func(voters []int) {
		if len(voters) == 0 {
			return
		}
		for _, snapshot := range []bool{false, true} {
			for _, spare := range []bool{false, true} {
				for _, kill := range []string{neverKilled, killedBetween, killedWithin} {
					w := newWorld(snapshot, kill, voters, spare)
					obstacles := w.obstacles()
					refusal := w.play(t)
					switch {
					case refusal == nil && len(obstacles) > 0:
						t.Fatalf("it ends although %v stands in the way\n%s", obstacles, w)
					case refusal == nil:
						ended++
						w.checkEnd(t)
					case !slices.Contains(obstacles, refusal.Kind):
						t.Fatalf("it refuses (%s: %v), but only %v stands in the way\n%s", refusal.Kind, refusal, obstacles, w)
					default:
						refused[refusal.Kind]++
						w.checkUntouched(t)
					}
				}
			}
		}
	})
	if ended < 100 || len(refused) < 5 {
		t.Errorf("%d ended, refused %v: the worlds are too few", ended, refused)
	}
}

// checkEnd checks that one host has the new data, and that all old data still
// exist, set aside.
func (w *world) checkEnd(t *testing.T) {
	t.Helper()
	founders := 0
	for _, m := range w.hosts {
		if m.disk == newMember && m.runs {
			founders++
		}
		kept := m.diskAtFirst == "" || m.disk == m.diskAtFirst || slices.Contains(m.aside, m.diskAtFirst)
		if !kept || !m.apart && !m.gone && !m.unlisted && (m.record != "" || m.disk != "" && m.disk != newMember) {
			t.Fatalf("%s lost data, or has old ones, or a record\n%s", m.name, w)
		}
	}
	if founders != 1 {
		t.Fatalf("%d new clusters\n%s", founders, w)
	}
}

// checkUntouched checks that a refused run has not changed the data of any
// host.
func (w *world) checkUntouched(t *testing.T) {
	t.Helper()
	for _, m := range w.hosts {
		if m.disk != m.diskAtFirst {
			t.Fatalf("the data of %s were touched\n%s", m.name, w)
		}
	}
}
