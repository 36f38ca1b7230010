package engine

import (
	"fmt"
	"slices"
	"strings"
)

// QuorumForecast is how many voters an etcd cluster can still count on when some of its
// hosts may go down at any moment.
type QuorumForecast struct {
	Cluster string
	Problem string // why nobody knows; the numbers are zero then
	Voters  int
	Quorum  int
	Left    int      // healthy voters on hosts that are to stay
	Gone    []string // hosts that are taken now and have a voter
	Away    []string // other voters that do not count, and why
}

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
			o.Gone = append(o.Gone, m.Host)
		case m.Host != "" && lost:
			o.Away = append(o.Away, m.Host+" "+why)
		case !m.Healthy:
			o.Away = append(o.Away, m.Name+" is not healthy")
		default:
			o.Left++
		}
	}
	o.Quorum = QuorumOf(o.Voters)
	return o
}

// Lost reports whether no quorum would be left, or nobody knows.
func (o QuorumForecast) Lost() bool { return o.Problem != "" || o.Left < o.Quorum }

// Tight reports whether just the quorum would be left, so that no other may fail.
func (o QuorumForecast) Tight() bool { return o.Problem == "" && o.Left == o.Quorum }

// String is the arithmetic, for people.
func (o QuorumForecast) String() string {
	if o.Problem != "" {
		return fmt.Sprintf("etcd cluster %s: whether its quorum would be left is not known: %s", o.Cluster, o.Problem)
	}
	s := fmt.Sprintf("etcd cluster %s: %d of %d voters would be left without %s, the quorum is %d", o.Cluster, o.Left, o.Voters, strings.Join(o.Gone, ", "), o.Quorum)
	if len(o.Away) > 0 {
		s += " (" + strings.Join(o.Away, "; ") + ")"
	}
	return s
}
