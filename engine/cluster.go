package engine

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// ClusterFacts is the observed state of an etcd cluster: its own member list, with the
// health of each member.
type ClusterFacts struct {
	Name    string   `json:"name"`
	Members []Member `json:"members,omitempty"`
	Problem string   `json:"problem,omitempty"` // why there are no facts, or the members do not fit the inventory
	Alarms  []string `json:"alarms,omitempty"`
	Version string   `json:"version,omitempty"` // cluster version of etcd: no member may be older; missing: not known

	Certificates        []Certificate        `json:"certificates,omitempty"`         // that members present, the client certificate of holdfast, and CAs
	CertificateProblems []CertificateProblem `json:"certificate_problems,omitempty"` // of these, when the facts were gathered
}

// Member is one member of an etcd cluster.
type Member struct {
	ID        string `json:"id"` // hexadecimal, as etcdctl prints it
	Name      string `json:"name"`
	Host      string `json:"host,omitempty"` // the inventory host it runs on, by its own answer; else by name or address
	Learner   bool   `json:"learner,omitempty"`
	Healthy   bool   `json:"healthy"`           // answers a linearizable read and has caught up
	Problem   string `json:"problem,omitempty"` // why it is not healthy
	Leader    bool   `json:"leader,omitempty"`
	RaftIndex uint64 `json:"raft_index,omitempty"`
	Behind    uint64 `json:"entries_behind,omitempty"` // committed raft entries that it has not applied
	Version   string `json:"version,omitempty"`        // of its etcd
	DBBytes   int64  `json:"db_bytes,omitempty"`
	DBInUse   int64  `json:"db_in_use_bytes,omitempty"` // of db_bytes; defragmentation frees the others
	DBQuota   int64  `json:"db_quota_bytes,omitempty"`  // at which etcd accepts no more writes; missing: not known

	StorageVersion string `json:"storage_version,omitempty"` // of its database, from etcd 3.6 on
}

// QuorumOf is how many of n voters must be healthy for etcd to accept writes:
// more than half.
func QuorumOf(n int) int { return n/2 + 1 }

// Voters returns the members that vote. Callers must not change them: they may share
// memory with the facts.
func (c ClusterFacts) Voters() []Member {
	learner := func(m Member) bool { return m.Learner }
	if !slices.ContainsFunc(c.Members, learner) { // nearly always: a plan asks for each host, and copies would cost most
		return slices.Clip(c.Members)
	}
	return slices.DeleteFunc(slices.Clone(c.Members), learner)
}

// Leader returns the host the leader runs on, or "".
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

// UnhealthyHosts returns the hosts of voters that are not healthy, by name of the member
// where the host is not known.
func (c ClusterFacts) UnhealthyHosts() []string {
	var hosts []string
	for _, m := range c.Voters() {
		if !m.Healthy {
			hosts = append(hosts, cmp.Or(m.Host, m.Name))
		}
	}
	return hosts
}

// Margin is how many more voters the cluster can lose and still accept
// writes; negative when it has lost its quorum.
func (c ClusterFacts) Margin() int { return c.CountHealthy() - QuorumOf(len(c.Voters())) }

// MayLose reports why the host must not go down now, or nil. away are other
// hosts that are, or may at any moment be, down: held by somebody,
// unreachable, or in the same batch. The rule: afterwards at least a quorum
// of healthy voters remains, and every other voter is healthy; a cluster
// with an alarm or a learner is left alone, and so is one of which not exactly
// one voter is known to run on the host, or in which members would refuse each
// other after a restart. allowOutage waives the quorum for
// clusters of one or two voters, which have none to spare.
func (c ClusterFacts) MayLose(host string, away []string, allowOutage bool) error {
	if c.Problem != "" {
		return c.quorumError(c.Problem)
	}
	if len(c.Alarms) > 0 {
		return c.quorumError("alarm " + strings.Join(c.Alarms, ", "))
	}
	voters := c.Voters()
	if len(voters) < len(c.Members) {
		return c.quorumError("a learner is being added; wait until it is promoted or remove it")
	}
	lost, left, problems := 0, 0, []string(nil)
	for _, m := range voters {
		peer, refused := c.FailedPeerCertificate(m.Host)
		refused = refused && len(voters) > 1
		switch {
		case m.Host == host && host != "":
			lost++
			if refused && m.Healthy {
				problems = append(problems, "member "+m.Name+" could not join again: "+peer.Text)
			}
		case !m.Healthy:
			problems = append(problems, fmt.Sprintf("member %s is not healthy: %s", m.Name, m.Problem))
		case m.Host != "" && slices.Contains(away, m.Host):
			problems = append(problems, fmt.Sprintf("member %s is away: its host is unreachable, held or being disrupted", m.Name))
		case refused:
			problems = append(problems, "member "+m.Name+" could not connect to a member that restarts: "+peer.Text)
		default:
			left++
		}
	}
	if len(problems) > 0 {
		sort.Strings(problems)
		return c.quorumError(strings.Join(problems, "; "))
	}
	if lost != 1 {
		return c.quorumError(fmt.Sprintf("%d of its %d voters run on %s; there must be one", lost, len(voters), host))
	}
	if quorum := QuorumOf(len(voters)); left < quorum && (!allowOutage || len(voters) > 2) {
		hint := ""
		if len(voters) <= 2 {
			hint = "; allow_outage = true in its etcd_cluster block accepts that"
		}
		return c.quorumError(fmt.Sprintf("%d of %d voters would be left, the quorum is %d%s", left, len(voters), quorum, hint))
	}
	return nil
}

func (c ClusterFacts) quorumError(reason string) error {
	return fmt.Errorf("etcd cluster %s: %s", c.Name, reason)
}

// FindProblems returns the problems of the cluster, a sentence each. An unhealthy member
// is no problem if explained reports another reason for its host, such as a hold.
func (c ClusterFacts) FindProblems(explained func(host string) bool) []string {
	var out []string
	if c.Problem != "" {
		out = append(out, c.Problem)
	}
	for _, a := range c.Alarms {
		out = append(out, "alarm "+a)
	}
	for _, p := range c.CertificateProblems {
		if p.FailsBetweenMembers() { // others that fail are why members do not answer
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

// FindUnhealthy returns the cluster with its problems, and false if it has none. An
// unhealthy member is no problem if explained reports another reason for its host.
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

// UnhealthyMember returns why a host is not to be disrupted whose own member is not
// healthy, "" if the member is healthy or none runs there. Losing such a host
// costs the cluster no voter, but somebody may have stopped the member on
// purpose, and a reboot starts it.
func (c ClusterFacts) UnhealthyMember(host string) string {
	for _, m := range c.Voters() {
		if m.Host == host && host != "" && !m.Healthy {
			return fmt.Sprintf("etcd cluster %s: member %s is not healthy: %s; %d of %d voters are healthy, and the quorum is %d",
				c.Name, m.Name, m.Problem, c.CountHealthy(), len(c.Voters()), QuorumOf(len(c.Voters())))
		}
	}
	return ""
}

// QuorumForecast is how many voters an etcd cluster can still count on when some of its
// hosts may go down at any moment.
type QuorumForecast struct {
	Cluster     string
	Problem     string // why nobody knows; the numbers are zero then
	Voters      int
	Quorum      int
	Remaining   int      // healthy voters on hosts that are to stay
	Disrupted   []string // hosts that are taken now and have a voter
	Unavailable []string // other voters that do not count, and why
}

// LosesQuorum reports whether no quorum would be left, or nobody knows.
func (o QuorumForecast) LosesQuorum() bool { return o.Problem != "" || o.Remaining < o.Quorum }

// ForecastQuorum counts the voters that are left where people take these hosts. away are
// other hosts that may be down, and why.
func (c ClusterFacts) ForecastQuorum(taken []string, away map[string]string) QuorumForecast {
	o := QuorumForecast{Cluster: c.Name, Problem: c.Problem}
	if c.Problem != "" {
		return o
	}
	for _, m := range c.Voters() {
		o.Voters++
		why, lost := away[m.Host]
		switch {
		case m.Host != "" && slices.Contains(taken, m.Host):
			o.Disrupted = append(o.Disrupted, m.Host)
		case m.Host != "" && lost:
			o.Unavailable = append(o.Unavailable, m.Host+" "+why)
		case !m.Healthy:
			o.Unavailable = append(o.Unavailable, m.Name+" is not healthy")
		default:
			o.Remaining++
		}
	}
	o.Quorum = QuorumOf(o.Voters)
	return o
}

// HasNoMargin reports whether just the quorum would be left, so that no other may fail.
func (o QuorumForecast) HasNoMargin() bool { return o.Problem == "" && o.Remaining == o.Quorum }

// String is the arithmetic, for people.
func (o QuorumForecast) String() string {
	if o.Problem != "" {
		return fmt.Sprintf("etcd cluster %s: whether its quorum would be left is not known: %s", o.Cluster, o.Problem)
	}
	s := fmt.Sprintf("etcd cluster %s: %d of %d voters would be left without %s, the quorum is %d", o.Cluster, o.Remaining, o.Voters, strings.Join(o.Disrupted, ", "), o.Quorum)
	if len(o.Unavailable) > 0 {
		s += " (" + strings.Join(o.Unavailable, "; ") + ")"
	}
	return s
}
