package engine

import (
	"fmt"
	"slices"
	"strings"
)

// UnhealthyCluster is an etcd cluster with which something is wrong.
type UnhealthyCluster struct {
	Cluster  string   `json:"cluster"`
	Problems []string `json:"problems"`          // a sentence each
	Voters   int      `json:"voters,omitempty"`  // 0: not known
	Healthy  int      `json:"healthy,omitempty"` // of the voters
	Quorum   int      `json:"quorum,omitempty"`  // voters that must be healthy for etcd to accept writes
}

// String returns the whole sentence.
func (s UnhealthyCluster) String() string {
	text := "etcd cluster " + s.Cluster + " is not healthy: " + strings.Join(s.Problems, "; ")
	if s.Voters > 0 {
		text += fmt.Sprintf(" (%d of %d voters healthy, the quorum is %d)", s.Healthy, s.Voters, s.Quorum)
	}
	return text
}

// FindProblems returns what is wrong with the cluster, a sentence each. A member
// that is not healthy is no ailment of its own where explained reports that
// something else accounts for its host, such as a hold.
func (c ClusterFacts) FindProblems(explained func(host string) bool) []string {
	var out []string
	if c.Problem != "" {
		out = append(out, c.Problem)
	}
	for _, a := range c.Alarms {
		out = append(out, "alarm "+a)
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

// UnhealthyMember returns why a host is not to be disrupted whose own member is not
// healthy, "" if the member is healthy or none runs there. Losing such a host
// costs the cluster no voter, but somebody may have stopped the member on
// purpose, and a reboot starts it.
func (c ClusterFacts) UnhealthyMember(host string) string {
	for _, m := range c.Voters() {
		if m.Host == host && host != "" && !m.Healthy {
			return fmt.Sprintf("etcd cluster %s: member %s is not healthy: %s; %d of %d voters are healthy, and the quorum is %d",
				c.Name, m.Name, m.Problem, c.Healthy(), len(c.Voters()), QuorumOf(len(c.Voters())))
		}
	}
	return ""
}

// warnOfRepairs warns of hosts that are disrupted although their member is down.
func (in Input) warnOfRepairs(work []HostPlan) (warnings []string) {
	for _, hp := range work {
		facts := in.Clusters[hp.Cluster]
		if why := facts.UnhealthyMember(hp.Host); why != "" && hp.Disruptive() && slices.Contains(in.Repair, hp.Host) {
			warnings = append(warnings, fmt.Sprintf("%s is disrupted to repair its etcd member (--repair-member): %s; until it is back, %s", hp.Host, why, describeMargin(facts)))
		}
	}
	return warnings
}

// describeMargin says how many more voters a cluster can lose.
func describeMargin(c ClusterFacts) string {
	switch n := c.Margin(); {
	case n < 0:
		return "the cluster has no quorum and accepts no writes"
	case n == 0:
		return "no other voter may fail"
	case n == 1:
		return "one other voter may fail"
	default:
		return fmt.Sprintf("%d other voters may fail", n)
	}
}

// unhealthyClusters returns the observed clusters of the selected hosts with which something
// is wrong. A hold accounts for a member that is down: its host is not free,
// and is counted as that.
func (in Input) unhealthyClusters() []UnhealthyCluster {
	held := func(host string) bool { return in.Facts[host].Held() }
	var out []UnhealthyCluster
	for _, name := range ClustersConcerned(in) {
		facts, seen := in.Clusters[name]
		problems := facts.FindProblems(held)
		if !seen || len(problems) == 0 {
			continue
		}
		voters := len(facts.Voters())
		s := UnhealthyCluster{Cluster: name, Problems: problems, Voters: voters, Healthy: facts.Healthy()}
		if voters > 0 {
			s.Quorum = QuorumOf(voters)
		}
		out = append(out, s)
	}
	return out
}

// ClustersConcerned names the etcd clusters with a selected member, in the
// order of the inventory: those whose health a verdict is about.
func ClustersConcerned(in Input) []string {
	in = in.withSelection()
	var names []string
	for _, c := range in.Inventory.Clusters {
		if slices.ContainsFunc(in.Inventory.Members(c.Name), in.Selected) {
			names = append(names, c.Name)
		}
	}
	return names
}
