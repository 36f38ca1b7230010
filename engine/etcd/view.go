package etcd

import (
	"fmt"
	"net/url"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// view is the answers of all peers, put together: one cluster, its member
// list, and who runs where.
type view struct {
	answers []answer
	cluster uint64            // the cluster most peers are members of
	best    int               // the answer to believe about the cluster; -1: none
	list    []*pb.Member      // the cluster's own member list
	said    map[uint64]int    // answers by member
	hosts   map[uint64]string // hosts by member
	leader  uint64            // 0: none
	mark    uint64            // raft index that was committed before the reads
}

// newView puts the answers together. known says where members were seen
// before.
func newView(answers []answer, known map[uint64]string) view {
	v := view{answers: answers, said: map[uint64]int{}, hosts: map[uint64]string{}}
	v.cluster = v.main()
	v.best = v.pick(func(answer) bool { return true })
	for i, a := range answers {
		if !v.speaks(a) {
			continue
		}
		if _, twice := v.said[a.id()]; !twice {
			v.said[a.id()] = i
		}
		v.mark = max(v.mark, a.committed)
	}
	if i := v.pick(func(a answer) bool { return a.members != nil }); i >= 0 {
		v.list = answers[i].members
	}
	if v.best >= 0 {
		v.leader = answers[v.best].status.Leader
	}
	v.place(known)
	return v
}

// main is the cluster that most peers say they are members of; the first
// peer's, if two are as many.
func (v view) main() uint64 {
	count, best := map[uint64]int{}, uint64(0)
	for _, a := range v.answers {
		if a.err == nil {
			count[a.cluster()]++
		}
	}
	for _, a := range v.answers {
		if a.err == nil && count[a.cluster()] > count[best] {
			best = a.cluster()
		}
	}
	return best
}

// speaks reports whether a is an answer of a member of the cluster.
func (v view) speaks(a answer) bool { return a.err == nil && a.cluster() == v.cluster }

// pick returns the answer that knows most about the cluster among those that
// fit: one that reads linearizably knows more than one that does not, a later
// term more than an earlier one, a leader more than a follower.
func (v view) pick(fits func(answer) bool) int {
	best := -1
	for i, a := range v.answers {
		if v.speaks(a) && fits(a) && (best < 0 || knowsMore(a, v.answers[best])) {
			best = i
		}
	}
	return best
}

func knowsMore(a, b answer) bool {
	if a.reads() != b.reads() {
		return a.reads()
	}
	if a.status.RaftTerm != b.status.RaftTerm {
		return a.status.RaftTerm > b.status.RaftTerm
	}
	if leads, led := a.id() == a.status.Leader, b.id() == b.status.Leader; leads != led {
		return leads
	}
	return a.status.RaftAppliedIndex > b.status.RaftAppliedIndex
}

// place finds the host of every member: by the member's own answer; else, for
// hosts that did not answer, by where it was seen before, by its name, or by
// the address in its URLs.
func (v view) place(known map[uint64]string) {
	silent := map[string]bool{}
	for _, a := range v.answers {
		silent[a.host] = true
	}
	for id, i := range v.said {
		v.hosts[id] = v.answers[i].host
		delete(silent, v.answers[i].host)
	}
	for _, m := range v.list {
		if _, found := v.hosts[m.ID]; found {
			continue
		}
		if host := v.guess(m, known[m.ID], silent); host != "" {
			v.hosts[m.ID] = host
			delete(silent, host)
		}
	}
}

// guess says on which of the silent hosts a member runs, or "".
func (v view) guess(m *pb.Member, known string, silent map[string]bool) string {
	if silent[known] {
		return known
	}
	if silent[m.Name] {
		return m.Name
	}
	for _, a := range v.answers {
		if silent[a.host] && (urlsName(m, a.address) || urlsName(m, a.host)) {
			return a.host
		}
	}
	return ""
}

// urlsName reports whether one of a member's URLs is at the host.
func urlsName(m *pb.Member, host string) bool {
	for _, s := range append(append([]string(nil), m.PeerURLs...), m.ClientURLs...) {
		if u, err := url.Parse(s); err == nil && host != "" && u.Hostname() == host {
			return true
		}
	}
	return false
}

// alarmed reports whether a member's status mentions an alarm.
func (v view) alarmed() bool { return len(v.complaints()) > 0 }

// complaints are the alarms as the members' status mentions them.
func (v view) complaints() []string {
	seen, list := map[string]bool{}, []string(nil)
	for _, a := range v.answers {
		if !v.speaks(a) {
			continue
		}
		for _, text := range a.status.Errors {
			if complaint(text) && !seen[text] {
				seen[text] = true
				list = append(list, printable(text))
			}
		}
	}
	return firstAlarms(list)
}

// nameOf is what to call a member: its name, or its ID while it has none.
func (v view) nameOf(id uint64) string {
	for _, m := range v.list {
		if m.ID == id && m.Name != "" {
			return printable(m.Name)
		}
	}
	return hexID(id)
}

// hexID writes an ID as etcdctl does.
func hexID(id uint64) string { return fmt.Sprintf("%x", id) }

// where lists a member's peer URLs, for finding it.
func where(m *pb.Member) string {
	if len(m.PeerURLs) == 0 {
		return "no peer URL"
	}
	return printable(strings.Join(m.PeerURLs, ", "))
}
