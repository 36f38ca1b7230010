package membership_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/longtest"
)

func lieAboutMembers(lie func(*membership.Member)) func(*membership.State) {
	return func(s *membership.State) {
		for i := range s.Members {
			lie(&s.Members[i])
		}
	}
}

func lieAboutHosts(lie func(*membership.Host)) func(*membership.State) {
	return func(s *membership.State) {
		for i := range s.Hosts {
			lie(&s.Hosts[i])
		}
	}
}

// hideFresh hides the hosts without a member for which hides returns true.
func hideFresh(hides func(membership.Host) bool) func(*membership.State) {
	return func(s *membership.State) {
		s.Hosts = slices.DeleteFunc(s.Hosts, func(h membership.Host) bool {
			return hides(h) && !slices.ContainsFunc(s.Members, func(m membership.Member) bool { return m.Host == h.Name })
		})
	}
}

// lies break a law each, whose text is the key.
func listLies() map[string]func(*membership.State) {
	allHealthy := lieAboutMembers(func(m *membership.Member) { m.Healthy = m.Healthy || !m.Learner })
	noLeader := lieAboutMembers(func(m *membership.Member) { m.Leader = false })
	noneRetired := lieAboutHosts(func(h *membership.Host) { h.Retired = false })
	noClash := lieAboutHosts(func(h *membership.Host) { h.Settings.Clash = "" })
	noneFresh := hideFresh(func(membership.Host) bool { return true })
	empty := lieAboutHosts(func(h *membership.Host) {
		h.Unreachable, h.HasData, h.Running, h.Record, h.Replaced = "", false, false, membership.NoRecord, false
	})
	ownData := func(s *membership.State) {
		for i, h := range s.Hosts {
			if m := slices.IndexFunc(s.Members, func(m membership.Member) bool { return m.Host == h.Name }); m >= 0 {
				s.Hosts[i].DataOf = s.Members[m].ID
			}
		}
	}
	leftData := func(s *membership.State) {
		for i, h := range s.Hosts {
			if !slices.ContainsFunc(s.Members, func(m membership.Member) bool { return m.Host == h.Name }) {
				s.Hosts[i].Record = membership.Removing
			}
		}
	}
	byNameOnly := func(s *membership.State) {
		for i := range s.Members {
			if h := slices.IndexFunc(s.Hosts, func(h membership.Host) bool { return h.DataOf == s.Members[i].ID }); h >= 0 && !s.Members[i].Healthy {
				s.Members[i].Host, s.Hosts[h].DataOf = "", "unknown"
			}
		}
	}
	return map[string]func(*membership.State){
		"no majority for a change":                allHealthy,
		"nothing was saved":                       func(s *membership.State) { s.Saved = true },
		"a second cluster":                        func(s *membership.State) { s.Members = nil; empty(s) },
		"a second learner":                        lieAboutMembers(func(m *membership.Member) { m.Learner, m.Healthy = false, true }),
		"a learner, while a voter is down":        allHealthy,
		"a member for a host that is not to have": noneRetired,
		"a host without preflight":                lieAboutHosts(func(h *membership.Host) { h.Checked = true }),
		"a new member with settings that harm":    noClash,
		"an even number of voters":                hideFresh(func(h membership.Host) bool { return h.Unreachable != "" || h.HasData || h.Failed != "" }),
		"a restart of no voter that stays":        noneRetired,
		"a second voter goes down":                allHealthy,
		"a restart leaves":                        func(s *membership.State) { s.AllowOutage = true },
		"the leader restarts":                     noLeader,
		"a restart while a member learns": func(s *membership.State) {
			s.Members = slices.DeleteFunc(s.Members, func(m membership.Member) bool { return m.Learner })
		},
		"a restart with settings that are":        lieAboutHosts(func(h *membership.Host) { h.Settings.Change = "old → new" }),
		"has a member: more could be spared then": noneFresh,
		"a restart with settings that harm":       noClash,
		"a start with the data of":                ownData,
		"a vote for a learner that is not ready":  lieAboutMembers(func(m *membership.Member) { m.Healthy, m.CaughtUp = m.Healthy || m.Learner, m.Learner }),
		"a removal of nobody": func(s *membership.State) {
			s.Members, s.Named = append(s.Members, membership.Member{ID: "nobody"}), append(s.Named, "nobody")
		},
		"a learner that may still finish is taken": lieAboutHosts(func(h *membership.Host) { h.Failed = "slow" }),
		"that serves and that nobody said is to":   lieAboutHosts(func(h *membership.Host) { h.Retired = h.Name != "h0" }),
		"the leader is removed":                    noLeader,
		"a voter that may come back":               empty,
		"no majority would be left":                allHealthy,
		"the cluster shrinks before it grows":      noneFresh,
		"data set aside that no run is known to":   leftData,
		"or that a member needs":                   byNameOnly,
	}
}

// TestLawsBite breaks each law in one way, and checks that some world shows it.
func TestLawsBite(t *testing.T) {
	t.Parallel()
	longtest.SkipSlow(t)
	kinds, learners := allVoterKinds(), slices.Sorted(maps.Keys(learnerKinds))
	for broken, lie := range listLies() {
		t.Run(broken, func(t *testing.T) {
			t.Parallel()
			shown, seen := false, map[string]int{}
			longtest.Multisets(len(kinds), 3, func(voters []int) {
				if shown || len(voters) == 0 {
					return
				}
				for _, learner := range learners {
					for fresh := range len(freshKinds) + 1 {
						for mode := range 3 {
							w := newWorld()
							for _, v := range voters {
								w.addVoter(kinds[v])
							}
							learnerKinds[learner].add(w)
							if fresh > 0 {
								w.addMachine(freshKinds[fresh-1].machine)
								w.addMachine(freshKinds[0].machine)
							}
							w.setSettings(learner, mode)
							w.lie, w.cutShort = lie, mode == killedWithin
							if _, err := w.run(mode == killedBetween); err != nil {
								seen[err.Error()]++
								shown = shown || strings.Contains(err.Error(), broken)
							}
						}
					}
				}
			})
			if !shown {
				t.Errorf("no world breaks this law; broken are %v", seen)
			}
		})
	}
}
