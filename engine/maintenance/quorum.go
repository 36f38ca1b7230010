package maintenance

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/standing"
)

// ClustersOf returns the etcd clusters that one of the hosts names in the inventory.
func ClustersOf(inv engine.Inventory, hosts []string) []engine.Cluster {
	var clusters []engine.Cluster
	for _, c := range inv.Clusters {
		if slices.ContainsFunc(inv.Members(c.Name), func(h engine.Host) bool { return slices.Contains(hosts, h.Name) }) {
			clusters = append(clusters, c)
		}
	}
	return clusters
}

// judgeQuorum forecasts the quorum of a cluster while the hosts are held.
// refused means that the hosts must not be held: a quorum would not be left, or
// nobody knows whether it would. allow_outage of the cluster waives only the
// first reason, for at most two voters.
func (s Site) judgeQuorum(c engine.Cluster, hosts []string) (o QuorumForecast, refused bool) {
	facts, seen := s.Clusters[c.Name]
	if !seen {
		facts = etcdfacts.ClusterFacts{Name: c.Name, Problem: "it was not looked at"}
	}
	away := map[string]string{}
	for _, h := range s.Inventory.Members(c.Name) {
		// Every hold counts: only a run could adopt one, and the request of a person is no run.
		if why := (standing.View{}).Judge(h, engine.Pool{}, s.factsOf(h)).DescribeAbsence(); why != "" {
			away[h.Name] = why
		}
	}
	o = forecastQuorum(facts, hosts, away)
	outageAllowed := c.AllowOutage && o.Voters <= 2 && o.Problem == ""
	return o, o.LosesQuorum() && !outageAllowed
}

// QuorumForecast counts the voters of an etcd cluster that remain when some of
// its hosts may go down at any moment.
type QuorumForecast struct {
	Cluster     string
	Problem     string // why the forecast is not known; the numbers are zero then
	Voters      int
	Quorum      int
	Remaining   int      // healthy voters on hosts that stay up
	Disrupted   []string // hosts with a voter that may go down
	Unavailable []string // other voters that are not healthy or may be down, each with the reason
}

// forecastQuorum counts the voters that remain when the taken hosts go down. away
// has the reason for each host that may be down already.
func forecastQuorum(c etcdfacts.ClusterFacts, taken []string, away map[string]string) QuorumForecast {
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
	o.Quorum = etcdfacts.QuorumOf(o.Voters)
	return o
}

// LosesQuorum reports whether too few voters would remain for a quorum. It
// returns true if the forecast is not known.
func (o QuorumForecast) LosesQuorum() bool { return o.Problem != "" || o.Remaining < o.Quorum }

// HasNoMargin reports whether exactly the quorum would remain, so that no other
// voter may fail.
func (o QuorumForecast) HasNoMargin() bool { return o.Problem == "" && o.Remaining == o.Quorum }

// String describes the forecast with its numbers.
func (o QuorumForecast) String() string {
	if o.Problem != "" {
		return fmt.Sprintf("etcd cluster %s: it is not known whether a quorum would be left: %s", o.Cluster, o.Problem)
	}
	without := ""
	if len(o.Disrupted) > 0 {
		without = " without " + strings.Join(o.Disrupted, ", ")
	}
	s := fmt.Sprintf("etcd cluster %s: %d of %d voters would be left%s, the quorum is %d", o.Cluster, o.Remaining, o.Voters, without, o.Quorum)
	if len(o.Unavailable) > 0 {
		s += " (" + strings.Join(o.Unavailable, "; ") + ")"
	}
	return s
}

// planQuorumCheck returns the step that asks etcd again before a member is switched off. Its hold keeps runs and other people from the other
// members by then, and the drain before may have taken long.
func (s Site) planQuorumCheck(host string) []engine.Step {
	h, _ := s.Inventory.Host(host)
	if h.Cluster == "" {
		return nil
	}
	return []engine.Step{{Name: "check quorum", Do: engine.Op{Quorum: &engine.Quorum{Cluster: h.Cluster, Down: true}}}}
}
