package engine_test

import (
	"testing"

	"holdfast/engine"
)

func TestOutlookOfACluster(t *testing.T) {
	voter := func(host string, healthy bool) engine.Member {
		return engine.Member{Name: host, Host: host, Healthy: healthy}
	}
	three := engine.ClusterFacts{Name: "main", Members: []engine.Member{voter("e-0", true), voter("e-1", true), voter("e-2", true)}}
	sick := engine.ClusterFacts{Name: "main", Members: []engine.Member{voter("e-0", true), voter("e-1", true), voter("e-2", false)}}
	five := engine.ClusterFacts{Name: "main", Members: append([]engine.Member{voter("e-3", true), voter("e-4", true)}, three.Members...)}
	for name, c := range map[string]struct {
		facts       engine.ClusterFacts
		taken       []string
		away        map[string]string
		lost, tight bool
		text        string
	}{
		"one of three":             {three, []string{"e-0"}, nil, false, true, "etcd cluster main: 2 of 3 voters would be left without e-0, the quorum is 2"},
		"two of three":             {three, []string{"e-0", "e-1"}, nil, true, false, "etcd cluster main: 1 of 3 voters would be left without e-0, e-1, the quorum is 2"},
		"one, and another held":    {three, []string{"e-0"}, map[string]string{"e-1": "is held by bob@b2"}, true, false, "etcd cluster main: 1 of 3 voters would be left without e-0, the quorum is 2 (e-1 is held by bob@b2)"},
		"one, and another down":    {sick, []string{"e-0"}, nil, true, false, "etcd cluster main: 1 of 3 voters would be left without e-0, the quorum is 2 (e-2 is not healthy)"},
		"the one that is down":     {sick, []string{"e-2"}, nil, false, true, "etcd cluster main: 2 of 3 voters would be left without e-2, the quorum is 2"},
		"one of five":              {five, []string{"e-0"}, nil, false, false, "etcd cluster main: 4 of 5 voters would be left without e-0, the quorum is 3"},
		"a cluster nobody can see": {engine.ClusterFacts{Name: "main", Problem: "no member answers"}, []string{"e-0"}, nil, true, false, "etcd cluster main: it is not known whether a quorum would be left: no member answers"},
	} {
		o := c.facts.ForecastQuorum(c.taken, c.away)
		if o.LosesQuorum() != c.lost || o.HasNoMargin() != c.tight || o.String() != c.text {
			t.Errorf("%s: lost %v, tight %v: %s", name, o.LosesQuorum(), o.HasNoMargin(), o)
		}
	}
}
