package etcd

import (
	"fmt"
	"sort"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"holdfast/engine/etcdfacts"
)

func (v clusterView) clusterFacts(name string) etcdfacts.ClusterFacts {
	facts := etcdfacts.ClusterFacts{Name: name, Problem: strings.Join(v.clusterProblems(name), "; ")}
	for _, m := range v.members {
		facts.Members = append(facts.Members, v.memberFacts(m))
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

func (v clusterView) memberFacts(m *pb.Member) etcdfacts.Member {
	member := etcdfacts.Member{
		ID:      hexID(m.ID),
		Name:    v.nameOf(m.ID),
		Host:    v.hosts[m.ID],
		Learner: m.IsLearner,
		Leader:  m.ID == v.leader,
	}
	if i, ok := v.answerOf[m.ID]; ok {
		status := v.answers[i].status
		member.RaftIndex = status.RaftAppliedIndex
		member.Version, member.StorageVersion = printableText(status.Version), versionText(status.StorageVersion)
		member.EntriesBehind = v.entriesBehind(v.answers[i])
		member.DBBytes, member.DBInUseBytes, member.DBQuotaBytes = status.DbSize, status.DbSizeInUse, status.DbSizeQuota
	}
	member.Problem = printableText(v.memberProblem(m))
	member.Healthy = member.Problem == ""
	return member
}

func (v clusterView) memberProblem(m *pb.Member) string {
	i, spoke := v.answerOf[m.ID]
	switch {
	case m.Name == "" && v.managed != "":
		return fmt.Sprintf("it was added to the cluster but has not started: go on with holdfast etcd members apply %s, or remove it: %s", v.managed, v.removeCommand(m.ID))
	case m.Name == "":
		return fmt.Sprintf("it was added to the cluster but has not started: start etcd at %s, or remove it: %s", peerURLs(m), v.removeCommand(m.ID))
	case !spoke:
		return v.silenceReason(m)
	case m.IsLearner:
		return fmt.Sprintf("it is a learner, %d entries behind", v.entriesBehind(v.answers[i]))
	case v.answers[i].readErr != nil:
		return fmt.Sprintf("%v (%d entries behind)", v.answers[i].readErr, v.entriesBehind(v.answers[i]))
	case v.entriesBehind(v.answers[i]) > 0:
		return fmt.Sprintf("it is %d entries behind", v.entriesBehind(v.answers[i]))
	}
	return ""
}

func (v clusterView) silenceReason(m *pb.Member) string {
	for _, a := range v.answers {
		if a.host != v.hosts[m.ID] {
			continue
		}
		if a.err != nil {
			return oneLine(a.err)
		}
		return "its host answers for another etcd cluster, " + hexID(a.clusterID())
	}
	return "no host of the inventory answers as this member"
}

// entriesBehind returns the number of entries that were committed before the reads and that the member has not applied.
func (v clusterView) entriesBehind(a answer) uint64 {
	if a.status.RaftAppliedIndex >= v.committed {
		return 0
	}
	return v.committed - a.status.RaftAppliedIndex
}
