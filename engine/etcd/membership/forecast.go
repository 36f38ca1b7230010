package membership

import (
	"fmt"
	"slices"

	"holdfast/engine/etcdfacts"
)

// Forecast is how a change of membership will go if every step succeeds.
type Forecast struct {
	Steps   []PlannedStep `json:"steps"`
	Refusal *Refusal      `json:"refusal,omitempty"` // why no further step is allowed; nil: the cluster then has the wanted members

	Warnings []string `json:"warnings,omitempty"` // shown before the steps, such as a CA that clients may need
}

// PlannedStep is a step with the number of voters after it.
type PlannedStep struct {
	MemberStep
	After Count `json:"after"`
}

// maxSteps limits a forecast. A host needs at most twelve steps, and no cluster has more than a hundred members.
const maxSteps = 2000

// Plan returns all steps until the cluster has the wanted members, or until a refusal.
func Plan(s State) Forecast {
	f := Forecast{Warnings: Warnings(s)}
	for range maxSteps {
		step, err := Next(s)
		if err != nil {
			f.Refusal, _ = err.(*Refusal)
			return f
		}
		if step.Action == Done {
			return f
		}
		s = s.applyStep(step)
		if _, listed := s.findMember(step.Host); listed && s.memberOrNone(step.Member).isForecast {
			step.Member = "" // unknown until etcd adds the member
		}
		f.Steps = append(f.Steps, PlannedStep{MemberStep: step, After: s.countVoters()})
	}
	panic(fmt.Sprintf("membership: %d steps of cluster %s do not end", maxSteps, s.Cluster))
}

// forecastMember returns a member that etcd does not list yet. Its ID is unlike all others.
func forecastMember(host string) Member {
	return Member{ID: "new member of " + host, Host: host, isForecast: true}
}

func (s State) applyStep(step MemberStep) State {
	s.Members, s.Hosts = slices.Clone(s.Members), slices.Clone(s.Hosts)
	host := s.hostOrNone(step.Host)
	s.HookDue = s.HookDue && step.Action != RunHook || s.HasHook && step.ChangesVoters()
	switch step.Action {
	case Snapshot:
		s.Saved = true
	case Preflight:
		host.Checked = true
	case Issue, TrustCA, DropCA:
		if host.Certificates.Problem != "" && host.Running { // others accept it again
			if m, listed := s.findMember(host.Name); listed {
				s.memberOrNone(m.ID).Healthy = true
			}
		}
		host.Certificates = host.Certificates.afterStep(step, s.CAsAfter(step), s.CA)
	case Configure:
		host.Settings.Change, host.Settings.Clash = "", ""
		host.Certificates.Loaded = host.Certificates.File
	case Create:
		host.Record = Creating
		s.createCluster(host)
	case AddLearner:
		host.Record = Adding
		m := forecastMember(step.Host)
		m.Learner = true
		s.Members = append(s.Members, m)
	case Start, Await:
		if len(s.Members) == 0 {
			s.createCluster(host)
			break
		}
		host.HasData, host.Running, host.Certificates.Loaded = true, true, host.Certificates.File
		m := s.memberOrNone(step.Member)
		m.Name, m.Healthy, m.CaughtUp = step.Host, true, true
	case Promote:
		s.memberOrNone(step.Member).Learner = false
	case MoveLeader:
		s.moveLeader(step.Member)
	case Remove:
		host.Record = Removing
		s.Members = slices.DeleteFunc(s.Members, func(m Member) bool { return m.ID == step.Member })
	case SetAside:
		host.HasData, host.Running, host.Record, host.DataOf = false, false, NoRecord, ""
	case Forget:
		host.Record = NoRecord
	case RunHook, Done:
	}
	return s
}

// createCluster starts a cluster of one voter. It needs no snapshot, because there are no data.
func (s *State) createCluster(h *Host) {
	h.HasData, h.Running, s.Saved, s.Version = true, true, true, h.Etcd
	h.Certificates.Loaded = h.Certificates.File
	m := forecastMember(h.Name)
	m.Name, m.Healthy, m.Leader = h.Name, true, true
	s.Members = []Member{m}
}

func (s State) moveLeader(from string) {
	to := slices.IndexFunc(s.Members, func(m Member) bool { return m.ID != from && m.Healthy && !m.Learner && !s.isLeaving(m) })
	if to < 0 {
		to = slices.IndexFunc(s.Members, func(m Member) bool { return m.ID != from && m.Healthy && !m.Learner })
	}
	for i := range s.Members {
		s.Members[i].Leader = i == to
	}
}

// hostOrNone returns the host, or a new one that is not in the state, so that changes of it have no effect.
func (s State) hostOrNone(name string) *Host {
	for i := range s.Hosts {
		if s.Hosts[i].Name == name && s.Hosts[i].Unreachable == "" {
			return &s.Hosts[i]
		}
	}
	return &Host{}
}

func (s State) memberOrNone(id string) *Member {
	for i := range s.Members {
		if s.Members[i].ID == id {
			return &s.Members[i]
		}
	}
	return &Member{}
}

// recommendedVoters is the largest number of voters that etcd recommends, because each write waits for more than half of
// them.
const recommendedVoters = 7

// Warnings warns of an unwise number of wanted voters, and of a CA that clients may need.
func Warnings(s State) []string {
	wanted := 0
	for _, h := range s.Hosts {
		if !h.Retired {
			wanted++
		}
	}
	var out []string
	if wanted > 0 && wanted%2 == 0 {
		out = append(out, fmt.Sprintf("etcd cluster %s: %d voters: the quorum is %d, so %d may fail, no more than with %d voters",
			s.Cluster, wanted, etcdfacts.QuorumOf(wanted), wanted-etcdfacts.QuorumOf(wanted), wanted-1))
	}
	if wanted > recommendedVoters {
		out = append(out, fmt.Sprintf("etcd cluster %s: %d voters: each write waits for %d of them; etcd recommends at most %d voters",
			s.Cluster, wanted, etcdfacts.QuorumOf(wanted), recommendedVoters))
	}
	return append(out, s.warnOfClients()...)
}
