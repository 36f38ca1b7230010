package etcd

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"holdfast/engine/textutil"
)

// clusterView combines the answers of all peers: one cluster, its member list, and the hosts of its members.
type clusterView struct {
	answers    []answer
	cluster    uint64            // the cluster of most peers
	bestAnswer int               // index of the answer that knows most about the cluster; -1: none
	members    []*pb.Member      // the cluster's own member list
	answerOf   map[uint64]int    // answers by member
	hosts      map[uint64]string // hosts by member
	leader     uint64            // 0: none
	committed  uint64            // highest raft index that was committed before the reads
	managed    string            // name of the cluster, if holdfast adds and removes its members; "": somebody else does
}

// newClusterView combines the answers. known holds the hosts of members from earlier answers.
func newClusterView(answers []answer, known map[uint64]string) clusterView {
	v := clusterView{answers: answers, answerOf: map[uint64]int{}, hosts: map[uint64]string{}}
	v.cluster = v.majorityCluster()
	v.bestAnswer = v.pickAnswer(func(answer) bool { return true })
	for i, a := range answers {
		if !v.isOfCluster(a) {
			continue
		}
		if _, twice := v.answerOf[a.memberID()]; !twice {
			v.answerOf[a.memberID()] = i
		}
		v.committed = max(v.committed, a.committed)
	}
	if i := v.pickAnswer(func(a answer) bool { return a.members != nil }); i >= 0 {
		v.members = answers[i].members
	}
	if v.bestAnswer >= 0 {
		v.leader = answers[v.bestAnswer].status.Leader
	}
	v.placeMembers(known)
	return v
}

func (v clusterView) majorityCluster() uint64 {
	count, best := map[uint64]int{}, uint64(0)
	for _, a := range v.answers {
		if a.err == nil {
			count[a.clusterID()]++
		}
	}
	for _, a := range v.answers {
		if a.err == nil && count[a.clusterID()] > count[best] {
			best = a.clusterID()
		}
	}
	return best
}

func (v clusterView) isOfCluster(a answer) bool { return a.err == nil && a.clusterID() == v.cluster }

// pickAnswer returns the index of the answer that knows most about the cluster, among the answers for which fits
// returns true. It prefers an answer with a linearizable read, then one of a later term, then one with a leader.
func (v clusterView) pickAnswer(fits func(answer) bool) int {
	best := -1
	for i, a := range v.answers {
		if v.isOfCluster(a) && fits(a) && (best < 0 || knowsMore(a, v.answers[best])) {
			best = i
		}
	}
	return best
}

func knowsMore(a, b answer) bool {
	if a.readsLinearizably() != b.readsLinearizably() {
		return a.readsLinearizably()
	}
	if a.status.RaftTerm != b.status.RaftTerm {
		return a.status.RaftTerm > b.status.RaftTerm
	}
	if leads, led := a.memberID() == a.status.Leader, b.memberID() == b.status.Leader; leads != led {
		return leads
	}
	return a.status.RaftAppliedIndex > b.status.RaftAppliedIndex
}

// placeMembers finds the host of every member. A member that answers is on the host that answered. For other members,
// placeMembers uses their earlier host, their name, or the address in their URLs.
func (v clusterView) placeMembers(known map[uint64]string) {
	silent := map[string]bool{}
	for _, a := range v.answers {
		silent[a.host] = true
	}
	for id, i := range v.answerOf {
		v.hosts[id] = v.answers[i].host
		delete(silent, v.answers[i].host)
	}
	for _, m := range v.members {
		if _, found := v.hosts[m.ID]; found {
			continue
		}
		if host := v.guessHost(m, known[m.ID], silent); host != "" {
			v.hosts[m.ID] = host
			delete(silent, host)
		}
	}
}

func (v clusterView) guessHost(m *pb.Member, known string, silent map[string]bool) string {
	if silent[known] {
		return known
	}
	urls := slices.Concat(m.PeerURLs, m.ClientURLs)
	for _, isHost := range []func(answer) bool{
		func(a answer) bool { return textutil.IsSameAddress(a.host, m.Name) },
		func(a answer) bool { return HasAddress(urls, a.address) || HasAddress(urls, a.host) },
	} {
		if i := slices.IndexFunc(v.answers, func(a answer) bool { return silent[a.host] && isHost(a) }); i >= 0 {
			return v.answers[i].host
		}
	}
	return ""
}

// HasAddress reports whether one of the URLs of a member has a name or an IP address, in any spelling.
func HasAddress(urls []string, address string) bool {
	return address != "" && slices.ContainsFunc(urls, func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && textutil.IsSameAddress(u.Hostname(), address)
	})
}

func (v clusterView) hasAlarms() bool { return len(v.statusAlarms()) > 0 }

func (v clusterView) statusAlarms() []string {
	seen, list := map[string]bool{}, []string(nil)
	for _, a := range v.answers {
		if !v.isOfCluster(a) {
			continue
		}
		for _, text := range a.status.Errors {
			if isAlarmText(text) && !seen[text] {
				seen[text] = true
				list = append(list, printableText(text))
			}
		}
	}
	return firstAlarms(list)
}

func (v clusterView) nameOf(id uint64) string {
	for _, m := range v.members {
		if m.ID == id && m.Name != "" {
			return printableText(m.Name)
		}
	}
	return hexID(id)
}

func hexID(id uint64) string { return fmt.Sprintf("%x", id) }

func peerURLs(m *pb.Member) string {
	if len(m.PeerURLs) == 0 {
		return "no peer URL"
	}
	return printableText(strings.Join(m.PeerURLs, ", "))
}
