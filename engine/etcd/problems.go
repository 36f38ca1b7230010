package etcd

import (
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"holdfast/engine/etcdfacts"
)

func (v clusterView) clusterProblems(name string) []string {
	if v.bestAnswer < 0 {
		return []string{v.noAnswerProblem()}
	}
	problems := v.otherClusters()
	if v.members == nil {
		return append(problems, "no member returned the member list: "+oneLine(v.answers[v.bestAnswer].listErr))
	}
	problems = append(problems, v.sharedMemberIDs()...)
	problems = append(problems, v.unknownMembers(name)...)
	problems = append(problems, v.unlistedHosts(name)...)
	if v.leader == 0 {
		problems = append(problems, fmt.Sprintf("no leader: %d of %d voters answer, the quorum is %d",
			v.countAnsweringVoters(), v.countVoters(), etcdfacts.QuorumOf(v.countVoters())))
	}
	return problems
}

func (v clusterView) noAnswerProblem() string {
	if len(v.answers) == 0 {
		return "no host of the inventory is in it: set etcd_cluster on its members' hosts"
	}
	reasons := make([]string, len(v.answers))
	for i, a := range v.answers {
		reasons[i] = a.host + ": " + oneLine(a.err)
	}
	text := "no member answers: " + strings.Join(reasons, "; ")
	if v.managed != "" {
		text += "; " + adviseFirst(v.managed)
	}
	return text
}

// adviseFirst returns the commands for a managed cluster that perhaps does not exist yet.
func adviseFirst(cluster string) string {
	return fmt.Sprintf("if the cluster was never made, make it: holdfast etcd members apply %s. Hosts that need their configuration before etcd can run get it "+
		"while they do not name the cluster: remove their etcd_cluster, holdfast apply, and add it again", cluster)
}

func (v clusterView) otherClusters() []string {
	var others []string
	for _, a := range v.answers {
		if a.err == nil && !v.isOfCluster(a) {
			others = append(others, fmt.Sprintf("%s is in %s", a.host, hexID(a.clusterID())))
		}
	}
	if len(others) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("its hosts are in different etcd clusters: most are in %s, but %s; give those an "+
		"etcd_cluster of their own, or empty their data directory and add them as members again",
		hexID(v.cluster), strings.Join(others, ", "))}
}

func (v clusterView) sharedMemberIDs() []string {
	var problems []string
	for i, a := range v.answers {
		if v.isOfCluster(a) && v.answerOf[a.memberID()] != i {
			problems = append(problems, fmt.Sprintf("hosts %s and %s both answer as member %s: check their addresses",
				v.answers[v.answerOf[a.memberID()]].host, a.host, v.nameOf(a.memberID())))
		}
	}
	return problems
}

// unknownMembers returns a problem for each member whose host is not known. It may be on a host where etcd does not answer.
func (v clusterView) unknownMembers(name string) []string {
	retire, place := "", "on no host of the inventory"
	if v.managed != "" {
		retire = " (and etcd_retired = true if its voter is to go)"
	}
	var silent []string
	for _, a := range v.answers {
		if a.err != nil && !v.hasMember(a.host) {
			silent = append(silent, fmt.Sprintf("%s (%s)", a.host, oneLine(a.err)))
		}
	}
	if len(silent) > 0 {
		place = "not known to be on a host of the inventory, and may be that of " + strings.Join(silent, " or ") + ": start etcd there. If it is of another host"
	}
	var problems []string
	for _, m := range v.members {
		if v.hosts[m.ID] == "" {
			problems = append(problems, fmt.Sprintf("member %s (%s) is %s: add its host with etcd_cluster = %q%s, or start etcd there, or remove it: %s",
				v.nameOf(m.ID), peerURLs(m), place, name, retire, v.removeCommand(m.ID)))
		}
	}
	return problems
}

func (v clusterView) hasMember(host string) bool {
	return slices.ContainsFunc(v.members, func(m *pb.Member) bool { return v.hosts[m.ID] == host })
}

// removeCommand returns the command that removes a member. Of a managed cluster, etcdctl would remove it without the checks of holdfast.
func (v clusterView) removeCommand(id uint64) string {
	if v.managed != "" {
		return fmt.Sprintf("holdfast etcd members apply %s --remove-member %s", v.managed, v.nameOf(id))
	}
	return "etcdctl member remove " + hexID(id)
}

func (v clusterView) unlistedHosts(name string) []string {
	unknown := v.hasMember("") // unknownMembers reports the hosts that do not answer
	var problems []string
	for _, a := range v.answers {
		if v.hasMember(a.host) || a.retired || a.err != nil && unknown || a.err == nil && !v.isOfCluster(a) {
			continue // otherClusters reports a member of another cluster
		}
		reason := "etcd there does not answer: "
		switch {
		case a.err != nil:
			reason += oneLine(a.err)
		case v.answers[v.answerOf[a.memberID()]].host != a.host:
			continue // sharedMemberIDs reports it
		default:
			reason = fmt.Sprintf("etcd there says it is member %s, which was removed", hexID(a.memberID()))
		}
		add := "add it to the cluster"
		if v.managed != "" {
			add = "add a member there: holdfast etcd members apply " + v.managed
		}
		add += fmt.Sprintf(", or remove etcd_cluster from the host. If the host needs its configuration before etcd can run: remove etcd_cluster, "+
			"holdfast apply --limit %s, and set it again", a.host)
		problems = append(problems, fmt.Sprintf("host %s has etcd_cluster = %q but is not in the cluster's member list (%s): %s", a.host, name, reason, add))
	}
	return problems
}

func (v clusterView) countVoters() int {
	n := 0
	for _, m := range v.members {
		if !m.IsLearner {
			n++
		}
	}
	return n
}

func (v clusterView) countAnsweringVoters() int {
	n := 0
	for _, m := range v.members {
		if _, ok := v.answerOf[m.ID]; ok && !m.IsLearner {
			n++
		}
	}
	return n
}
