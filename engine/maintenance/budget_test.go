package maintenance_test

import (
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/maintenance"
)

// TestBudgetsOfHostsThatAreOff: hosts are held and switched off only within the budgets of their pools and of the site, unless the
// person forces it. A hold alone keeps the hosts running.
func TestBudgetsOfHostsThatAreOff(t *testing.T) {
	t.Parallel()
	count := func(n int) engine.CountOrPercent { return engine.CountOrPercent{Count: n, Set: true} }
	mine := heldBy(engine.MaintenanceHold, ann, here).Facts
	held := engine.Facts{Clock: now, GatheredAt: now, Hold: &engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@b2", Reason: "fans"}}
	for name, c := range map[string]struct {
		hosts      []string
		pool, site engine.CountOrPercent
		change     func(*maintenance.Site)
		request    func(*maintenance.Request)
		refused    string
	}{
		"within the default": {hosts: []string{"w-0"}},
		"more than the default": {
			hosts:   []string{"w-0", "w-1"},
			refused: "refused: pool worker: 2 of 4 hosts would be unavailable, and max_unavailable is 1; nothing was held. --force holds the hosts all the same",
		},
		"within the budget": {hosts: []string{"w-0", "w-1"}, pool: count(2)},
		"another is held": {
			hosts: []string{"w-0"}, change: func(s *maintenance.Site) { s.Facts["w-1"] = held },
			refused: `refused: pool worker: 2 of 4 hosts would be unavailable, and max_unavailable is 1 (w-1 is held by bob@b2 since 0001-01-01 00:00 UTC for "fans"); nothing was held. --force holds the hosts all the same`,
		},
		"the site has a budget": {
			hosts: []string{"w-0", "w-1"}, pool: count(4), site: count(1),
			refused: "refused: site lab: 2 of 5 hosts would be unavailable, and max_unavailable is 1; nothing was held. --force holds the hosts all the same",
		},
		"one is leaving": {hosts: []string{"w-0"}, change: func(s *maintenance.Site) { s.Inventory.Hosts[1].Leaving = true }},
		"forced":         {hosts: []string{"w-0", "w-1"}, request: func(r *maintenance.Request) { r.Force = true }},
		"only held":      {hosts: []string{"w-0", "w-1"}, request: func(r *maintenance.Request) { r.PowerOff = false }},
		"held by me":     {hosts: []string{"w-0"}, change: func(s *maintenance.Site) { s.Facts["w-0"] = mine }},
		"two held by me": {
			hosts: []string{"w-0", "w-1"}, change: func(s *maintenance.Site) { s.Facts["w-0"], s.Facts["w-1"] = mine, mine },
			refused: "refused: pool worker: 2 of 4 hosts would be unavailable, and max_unavailable is 1; nothing was changed. --force overrides this",
		},
		"two held by me, forced": {
			hosts: []string{"w-0", "w-1"}, change: func(s *maintenance.Site) { s.Facts["w-0"], s.Facts["w-1"] = mine, mine }, request: func(r *maintenance.Request) { r.Force = true },
		},
		"of another pool": {hosts: []string{"d-0"}, change: func(s *maintenance.Site) {
			s.Facts["w-1"], s.Facts["w-2"] = held, held
		}},
	} {
		s := maintenance.Site{Facts: map[string]engine.Facts{}, Inventory: engine.Inventory{Site: "lab", MaxUnavailable: c.site, Pools: []engine.Pool{{Name: "worker", MaxUnavailable: c.pool}, {Name: "db"}}}}
		for _, host := range []string{"w-0", "w-1", "w-2", "w-3", "d-0"} {
			pool := "worker"
			if host == "d-0" {
				pool = "db"
			}
			s.Inventory.Hosts = append(s.Inventory.Hosts, engine.Host{Name: host, Pool: pool})
			s.Facts[host] = engine.Facts{Host: host, Clock: now, GatheredAt: now}
		}
		if c.change != nil {
			c.change(&s)
		}
		r := maintenance.Request{Action: engine.HoldHosts, Hosts: c.hosts, Holder: ann, Bastion: here, Reason: "fans", PowerOff: true}
		if c.request != nil {
			c.request(&r)
		}
		got := ""
		if f := maintenance.NewPlan(r, maintenance.Observation{Site: s}, now).Hosts[0].Failure; f != nil {
			got = f.Cause
		}
		if got != c.refused {
			t.Errorf("%s: %s\nwant %s", name, got, c.refused)
		}
	}
}

// TestQuorumOfHeldHosts: a person holds a member of an etcd cluster, and another voter fails. The member is switched off only by force.
func TestQuorumOfHeldHosts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		healthy, force bool
		refused        string
		notices        int
	}{
		"healthy": {healthy: true, notices: 1},
		"another voter is down": {
			refused: "refused: etcd cluster main: 1 of 3 voters would be left without e-0, the quorum is 2 (e-1 is not healthy); nothing was changed. --force overrides this",
		},
		"forced": {force: true, notices: 1},
	} {
		s := maintenance.Site{Facts: map[string]engine.Facts{}, Inventory: engine.Inventory{Clusters: []engine.Cluster{{Name: "main"}}, Pools: []engine.Pool{{Name: "etcd"}}}}
		main := etcdfacts.ClusterFacts{Name: "main"}
		for _, host := range []string{"e-0", "e-1", "e-2"} {
			s.Inventory.Hosts = append(s.Inventory.Hosts, engine.Host{Name: host, Pool: "etcd", Cluster: "main"})
			s.Facts[host] = engine.Facts{Host: host}
			main.Members = append(main.Members, etcdfacts.Member{Name: host, Host: host, Healthy: c.healthy || host != "e-1"})
		}
		s.Clusters = map[string]etcdfacts.ClusterFacts{"main": main}
		s.Facts["e-0"] = heldBy(engine.MaintenanceHold, ann, here).Facts
		r := maintenance.Request{Action: engine.HoldHosts, Hosts: []string{"e-0"}, Holder: ann, Bastion: here, PowerOff: true, Force: c.force}
		p := maintenance.NewPlan(r, maintenance.Observation{Site: s}, now)
		got := ""
		if f := p.Hosts[0].Failure; f != nil {
			got = f.Cause
		}
		if got != c.refused || (len(p.Hosts[0].Steps) == 0) != (c.refused != "") || len(p.Notices) != c.notices {
			t.Errorf("%s: %q, %+v, %+v", name, got, p.Hosts[0].Steps, p.Notices)
		}
	}
}
