// Package etcdfacts has the observed state of etcd clusters, and tells from it
// how many members a cluster can lose.
package etcdfacts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ClusterFacts is the observed state of an etcd cluster: its own member list, with the
// health of each member.
type ClusterFacts struct {
	Name    string   `json:"name"`
	Members []Member `json:"members,omitempty"`
	Problem string   `json:"problem,omitempty"` // why there are no facts, or why the cluster is not as expected: it has no leader, or its members do not match the inventory
	Alarms  []string `json:"alarms,omitempty"`
	Version string   `json:"version,omitempty"` // cluster version of etcd, a lower bound for the version of each member; missing: not known

	Certificates        []Certificate        `json:"certificates,omitempty"`         // certificates that members present, the client certificate of holdfast, and CAs
	CertificateProblems []CertificateProblem `json:"certificate_problems,omitempty"` // problems of Certificates when the facts were gathered
}

// Member is one member of an etcd cluster.
type Member struct {
	ID            string `json:"id"` // hexadecimal, as etcdctl prints it
	Name          string `json:"name"`
	Host          string `json:"host,omitempty"` // inventory host of the member: the host that reports this member ID, if none does, a host that does not answer now and reported the ID earlier, or has the name or address of the member
	Learner       bool   `json:"learner,omitempty"`
	Healthy       bool   `json:"healthy"`           // the member answers a linearizable read and has caught up
	Problem       string `json:"problem,omitempty"` // why the member is not healthy
	Leader        bool   `json:"leader,omitempty"`
	RaftIndex     uint64 `json:"raft_index,omitempty"`
	EntriesBehind uint64 `json:"entries_behind,omitempty"` // committed raft entries that the member has not applied
	Version       string `json:"version,omitempty"`        // version of its etcd
	DBBytes       int64  `json:"db_bytes,omitempty"`
	DBInUseBytes  int64  `json:"db_in_use_bytes,omitempty"` // bytes of its database in use; defragmentation frees the others
	DBQuotaBytes  int64  `json:"db_quota_bytes,omitempty"`  // size at which etcd accepts no more writes; missing: not known

	StorageVersion string `json:"storage_version,omitempty"` // storage version of its database, from etcd 3.6 on
}

// Voters returns the members that vote. Callers must not change the result,
// because it may share memory with the facts.
func (c ClusterFacts) Voters() []Member {
	learner := func(m Member) bool { return m.Learner }
	if !slices.ContainsFunc(c.Members, learner) { // the usual case: no copy, because a plan calls Voters for each host
		return slices.Clip(c.Members)
	}
	return slices.DeleteFunc(slices.Clone(c.Members), learner)
}

// Leader returns the host that the leader runs on, or "".
func (c ClusterFacts) Leader() string {
	for _, m := range c.Members {
		if m.Leader {
			return m.Host
		}
	}
	return ""
}

// CountHealthy counts the healthy voters.
func (c ClusterFacts) CountHealthy() int {
	n := 0
	for _, m := range c.Voters() {
		if m.Healthy {
			n++
		}
	}
	return n
}

// UnhealthyHosts returns the hosts of the voters that are not healthy. It
// returns the name of a member whose host is not known.
func (c ClusterFacts) UnhealthyHosts() []string {
	var hosts []string
	for _, m := range c.Voters() {
		if !m.Healthy {
			hosts = append(hosts, cmp.Or(m.Host, m.Name))
		}
	}
	return hosts
}

// FindProblems returns one text for each problem of the cluster. An unhealthy
// member is no problem if explained reports another reason for its host, such
// as a hold.
func (c ClusterFacts) FindProblems(explained func(host string) bool) []string {
	var out []string
	if c.Problem != "" {
		out = append(out, c.Problem)
	}
	for _, a := range c.Alarms {
		out = append(out, "alarm "+a)
	}
	for _, p := range c.CertificateProblems {
		if p.FailsBetweenMembers() { // any other refused certificate shows as a member that does not answer
			out = append(out, p.Text)
		}
	}
	for _, m := range c.Members {
		switch {
		case m.Learner:
			out = append(out, "member "+m.Name+" is a learner and does not vote yet")
		case !m.Healthy && !explained(m.Host):
			out = append(out, fmt.Sprintf("member %s is not healthy: %s", m.Name, m.Problem))
		}
	}
	return out
}

// FindUnhealthy returns the cluster with its problems, and false if the cluster
// has no problem. An unhealthy member is not a problem if explained reports
// another reason for its host.
func (c ClusterFacts) FindUnhealthy(explained func(host string) bool) (UnhealthyCluster, bool) {
	problems := c.FindProblems(explained)
	if len(problems) == 0 {
		return UnhealthyCluster{}, false
	}
	u := UnhealthyCluster{Cluster: c.Name, Problems: problems, Voters: len(c.Voters()), Healthy: c.CountHealthy()}
	if u.Voters > 0 {
		u.Quorum = QuorumOf(u.Voters)
	}
	return u, true
}

// UnhealthyMember returns why a host must not be disrupted while its own voter
// is unhealthy. It returns "" if the voter is healthy or the host has no voter.
// The loss of a host with an unhealthy voter costs the cluster no healthy voter.
// But a person may have stopped the member on purpose, and a reboot starts it.
func (c ClusterFacts) UnhealthyMember(host string) string {
	for _, m := range c.Voters() {
		if m.Host == host && host != "" && !m.Healthy {
			return fmt.Sprintf("etcd cluster %s: member %s is not healthy: %s; %d of %d voters are healthy, and the quorum is %d",
				c.Name, m.Name, m.Problem, c.CountHealthy(), len(c.Voters()), QuorumOf(len(c.Voters())))
		}
	}
	return ""
}

// HasHealthyMember reports whether a host has a member that answers.
func (c ClusterFacts) HasHealthyMember(host string) bool {
	return slices.ContainsFunc(c.Members, func(m Member) bool { return m.Host == host && host != "" && m.Healthy })
}

// UnhealthyCluster is an etcd cluster with problems.
type UnhealthyCluster struct {
	Cluster  string   `json:"cluster"`
	Problems []string `json:"problems"`          // problems, each as a sentence
	Voters   int      `json:"voters,omitempty"`  // 0: not known
	Healthy  int      `json:"healthy,omitempty"` // healthy voters
	Quorum   int      `json:"quorum,omitempty"`  // voters that must be healthy for etcd to accept writes
}

// String returns the cluster and its problems as a sentence.
func (s UnhealthyCluster) String() string {
	text := "etcd cluster " + s.Cluster + " is not healthy: " + strings.Join(s.Problems, "; ")
	if s.Voters > 0 {
		text += fmt.Sprintf(" (%d of %d voters healthy, the quorum is %d)", s.Healthy, s.Voters, s.Quorum)
	}
	return text
}
