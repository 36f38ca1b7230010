package maintenance

import (
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
)

// TestQuorumDuringMaintenance checks the forecast for each state of a cluster,
// and whether the hosts may be held.
func TestQuorumDuringMaintenance(t *testing.T) {
	voter := func(host string, healthy bool) etcdfacts.Member {
		return etcdfacts.Member{Name: host, Host: host, Healthy: healthy}
	}
	members := func(list ...etcdfacts.Member) etcdfacts.ClusterFacts {
		return etcdfacts.ClusterFacts{Name: "main", Members: list}
	}
	three := members(voter("e-0", true), voter("e-1", true), voter("e-2", true))
	sick := members(voter("e-0", true), voter("e-1", true), voter("e-2", false))
	five := members(append([]etcdfacts.Member{voter("e-3", true), voter("e-4", true)}, three.Members...)...)
	single := members(voter("e-0", true))
	held := engine.Facts{Host: "e-1", Hold: &engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@b2", Reason: "fans"}}
	byRun := engine.Facts{Host: "e-1", Hold: &engine.Hold{Kind: engine.RunHold, Holder: "bob@b2", Run: "r1", Reason: "update"}}
	for name, c := range map[string]struct {
		facts          etcdfacts.ClusterFacts
		taken          []string
		others         []engine.Facts
		outage         bool
		refused, tight bool
		text           string
	}{
		"one of three":             {three, []string{"e-0"}, nil, false, false, true, "etcd cluster main: 2 of 3 voters would be left without e-0, the quorum is 2"},
		"two of three":             {three, []string{"e-0", "e-1"}, nil, false, true, false, "etcd cluster main: 1 of 3 voters would be left without e-0, e-1, the quorum is 2"},
		"two of three, allowed":    {three, []string{"e-0", "e-1"}, nil, true, true, false, "etcd cluster main: 1 of 3 voters would be left without e-0, e-1, the quorum is 2"},
		"another held":             {three, []string{"e-0"}, []engine.Facts{{Host: "e-2"}, held}, false, true, false, `etcd cluster main: 1 of 3 voters would be left without e-0, the quorum is 2 (e-1 is held by bob@b2 since 0001-01-01 00:00 UTC for "fans")`},
		"another held by a run":    {three, []string{"e-0"}, []engine.Facts{byRun}, false, true, false, `etcd cluster main: 1 of 3 voters would be left without e-0, the quorum is 2 (e-1 is held by bob@b2 since 0001-01-01 00:00 UTC for "update")`},
		"another unreadably held":  {three, []string{"e-0"}, []engine.Facts{{Host: "e-1", HoldProblem: "no JSON"}}, false, true, false, "etcd cluster main: 1 of 3 voters would be left without e-0, the quorum is 2 (e-1 is held (no JSON))"},
		"another not reached":      {three, []string{"e-0"}, []engine.Facts{{Host: "e-1", Unreachable: "timeout"}}, false, true, false, "etcd cluster main: 1 of 3 voters would be left without e-0, the quorum is 2 (e-1 cannot be reached (timeout))"},
		"another down":             {sick, []string{"e-0"}, nil, false, true, false, "etcd cluster main: 1 of 3 voters would be left without e-0, the quorum is 2 (e-2 is not healthy)"},
		"the one that is down":     {sick, []string{"e-2"}, nil, false, false, true, "etcd cluster main: 2 of 3 voters would be left without e-2, the quorum is 2"},
		"one of five":              {five, []string{"e-0"}, nil, false, false, false, "etcd cluster main: 4 of 5 voters would be left without e-0, the quorum is 3"},
		"the only one":             {single, []string{"e-0"}, nil, false, true, false, "etcd cluster main: 0 of 1 voters would be left without e-0, the quorum is 1"},
		"the only one, allowed":    {single, []string{"e-0"}, nil, true, false, false, "etcd cluster main: 0 of 1 voters would be left without e-0, the quorum is 1"},
		"a host without a voter":   {three, []string{"e-9"}, []engine.Facts{held}, false, false, true, `etcd cluster main: 2 of 3 voters would be left, the quorum is 2 (e-1 is held by bob@b2 since 0001-01-01 00:00 UTC for "fans")`},
		"a cluster nobody can see": {etcdfacts.ClusterFacts{Name: "main", Problem: "no member answers"}, []string{"e-0"}, nil, true, true, false, "etcd cluster main: it is not known whether a quorum would be left: no member answers"},
	} {
		s := Site{Clusters: map[string]etcdfacts.ClusterFacts{"main": c.facts}, Facts: map[string]engine.Facts{}}
		for _, host := range []string{"e-0", "e-1", "e-2", "e-3", "e-4", "e-9"} {
			s.Inventory.Hosts = append(s.Inventory.Hosts, engine.Host{Name: host, Cluster: "main"})
			s.Facts[host] = engine.Facts{Host: host}
		}
		for _, f := range c.others {
			s.Facts[f.Host] = f
		}
		o, refused := s.judgeQuorum(engine.Cluster{Name: "main", AllowOutage: c.outage}, c.taken)
		if refused != c.refused || o.HasNoMargin() != c.tight || o.String() != c.text {
			t.Errorf("%s: refused %v, tight %v: %s", name, refused, o.HasNoMargin(), o)
		}
	}
}

// Only clusters with a member on one of the hosts are judged.
func TestClustersOfMaintenance(t *testing.T) {
	inv := engine.Inventory{
		Clusters: []engine.Cluster{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		Hosts:    []engine.Host{{Name: "a-0", Cluster: "a"}, {Name: "b-0", Cluster: "b"}, {Name: "b-1", Cluster: "b"}, {Name: "c-0", Cluster: "c"}, {Name: "w-0"}},
	}
	for want, hosts := range map[string][]string{"": {"w-0"}, "b": {"b-1", "w-0"}, "ac": {"c-0", "a-0"}} {
		got := ""
		for _, c := range ClustersOf(inv, hosts) {
			got += c.Name
		}
		if got != want {
			t.Errorf("%v: clusters %q, want %q", hosts, got, want)
		}
	}
}
