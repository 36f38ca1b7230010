package restore_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/longtest"
)

// lieAboutHosts changes each host before a run sees it.
func lieAboutHosts(lie func(*restore.State, *restore.Host)) func(*restore.State) {
	return func(s *restore.State) {
		for i := range s.Hosts {
			lie(s, &s.Hosts[i])
		}
	}
}

// pretendReady makes the first host that answers seem to have new data that are complete.
func pretendReady(s *restore.State) {
	pretendPhase(s, restore.Ready, func(restore.Host) bool { return true })
}

func pretendPhase(s *restore.State, phase restore.Phase, fits func(restore.Host) bool) {
	i := slices.IndexFunc(s.Hosts, func(h restore.Host) bool { return h.Unreachable == "" && fits(h) })
	if i >= 0 {
		s.Hosts[i].Record, s.Hosts[i].Phase, s.Hosts[i].Of = membership.Restoring, phase, s.Source().Identity
	}
}

func hasNewData(h restore.Host) bool { return h.DataCluster == newMember && h.HasData }

// TestLawsBite breaks each law in one way, and checks that some world shows it.
func TestLawsBite(t *testing.T) {
	t.Parallel()
	for broken, lie := range map[string]func(*restore.State){
		"may live": func(s *restore.State) {
			for _, h := range s.Hosts {
				s.Lost = append(s.Lost, h.Name, "name-m"+strings.TrimPrefix(h.Name, "h"))
			}
			s.Answers = nil
		},
		"a step on a host that is not there":                    lieAboutHosts(func(_ *restore.State, h *restore.Host) { h.Unreachable = "" }),
		"new data on a host that was not checked":               lieAboutHosts(func(_ *restore.State, h *restore.Host) { h.Checked, h.Failed = true, "" }),
		"new data on a host on which they cannot be used":       lieAboutHosts(func(_ *restore.State, h *restore.Host) { h.Uncertified = "" }),
		"a start without certificates":                          lieAboutHosts(func(_ *restore.State, h *restore.Host) { h.Uncertified = "" }),
		"old data are touched before the new ones are complete": pretendReady,
		"incomplete data are put in place":                      pretendReady,
		"still has data, or runs":                               lieAboutHosts(func(_ *restore.State, h *restore.Host) { h.Cleaned = true }),
		"a start with the data of": func(s *restore.State) {
			pretendPhase(s, restore.Placed, func(restore.Host) bool { return true })
		},
		"the new data are set aside": func(s *restore.State) {
			if i := slices.IndexFunc(s.Hosts, hasNewData); i >= 0 {
				s.Hosts[i].Phase = restore.NoPhase
				pretendPhase(s, restore.Placed, func(h restore.Host) bool { return !hasNewData(h) })
			}
		},
	} {
		t.Run(broken, func(t *testing.T) {
			t.Parallel()
			shown, seen := false, map[string]int{}
			longtest.Multisets(len(kinds), 3, func(voters []int) {
				for _, snapshot := range []bool{false, true} {
					for _, kill := range []string{neverKilled, killedBetween, killedWithin} {
						if shown || len(voters) == 0 {
							return
						}
						w := newWorld(snapshot, kill, voters, len(voters) > 1)
						if w.lie = lie; len(w.state().Hosts) == 0 {
							continue
						}
						_, err := w.run()
						if err != nil {
							seen[err.Error()]++
						}
						shown = err != nil && strings.Contains(err.Error(), broken)
					}
				}
			})
			if !shown {
				t.Errorf("no world breaks this law; broken are %v", seen)
			}
		})
	}
}
