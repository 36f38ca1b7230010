package etcd

import (
	"fmt"
	"sort"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"holdfast/engine"
)

// facts is the view in the engine's words.
func (v view) facts(name string) engine.ClusterFacts {
	facts := engine.ClusterFacts{Name: name, Problem: strings.Join(v.problems(name), "; ")}
	for _, m := range v.list {
		facts.Members = append(facts.Members, v.member(m))
	}
	order := map[string]int{"": len(v.answers)}
	for i, a := range v.answers {
		order[a.host] = i
	}
	sort.SliceStable(facts.Members, func(i, j int) bool {
		a, b := facts.Members[i], facts.Members[j]
		if a.Host != b.Host {
			return order[a.Host] < order[b.Host]
		}
		return a.Name < b.Name
	})
	return facts
}

// member is one member in the engine's words.
func (v view) member(m *pb.Member) engine.Member {
	member := engine.Member{
		ID:      hexID(m.ID),
		Name:    v.nameOf(m.ID),
		Host:    v.hosts[m.ID],
		Learner: m.IsLearner,
		Leader:  m.ID == v.leader,
	}
	if i, ok := v.said[m.ID]; ok {
		status := v.answers[i].status
		member.RaftIndex = status.RaftAppliedIndex
		member.Version = printable(status.Version)
		member.DBBytes = status.DbSize
	}
	member.Problem = printable(v.ailment(m))
	member.Healthy = member.Problem == ""
	return member
}

// ailment says why a member is not a healthy voter, or "".
func (v view) ailment(m *pb.Member) string {
	i, spoke := v.said[m.ID]
	switch {
	case m.Name == "":
		return fmt.Sprintf("it was added to the cluster but has not started: start etcd at %s, "+
			"or remove it: etcdctl member remove %s", where(m), hexID(m.ID))
	case !spoke:
		return v.absence(m)
	case m.IsLearner:
		return fmt.Sprintf("it is a learner, %d entries behind", v.behind(v.answers[i]))
	case v.answers[i].readErr != nil:
		return fmt.Sprintf("%v (%d entries behind)", v.answers[i].readErr, v.behind(v.answers[i]))
	case v.behind(v.answers[i]) > 0:
		return fmt.Sprintf("it is %d entries behind", v.behind(v.answers[i]))
	}
	return ""
}

// absence says why a member did not answer.
func (v view) absence(m *pb.Member) string {
	for _, a := range v.answers {
		if a.host != v.hosts[m.ID] {
			continue
		}
		if a.err != nil {
			return oneLine(a.err)
		}
		return "its host answers for another etcd cluster, " + hexID(a.cluster())
	}
	return "no host of the inventory answers as this member"
}

// behind is how many of the entries that were committed before the reads a
// member has not applied.
func (v view) behind(a answer) uint64 {
	if a.status.RaftAppliedIndex >= v.mark {
		return 0
	}
	return v.mark - a.status.RaftAppliedIndex
}
