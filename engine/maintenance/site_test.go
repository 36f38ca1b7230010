package maintenance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/maintenance"
	"holdfast/engine/standing"
)

// TestNotices: a person who holds hosts hears of every run and unfinished roll-out of the site, of any bastion.
func TestNotices(t *testing.T) {
	t.Parallel()
	runHold := func(run, bastion string, change ...func(*engine.Hold)) engine.Facts {
		h := &engine.Hold{Kind: engine.RunHold, Run: run, Bastion: bastion, Holder: "bob@" + bastion, Expires: now.Add(time.Hour)}
		for _, c := range change {
			c(h)
		}
		return engine.Facts{Clock: now, GatheredAt: now, Hold: h}
	}
	site := func(facts ...engine.Facts) maintenance.Site {
		s := maintenance.Site{Facts: map[string]engine.Facts{}, View: standing.View{Run: engine.HoldOwner{Run: "mine", Bastion: here}, Dead: []string{"dead"}}}
		for i, f := range facts {
			f.Host = fmt.Sprint("w-", i)
			s.Inventory.Hosts = append(s.Inventory.Hosts, engine.Host{Name: f.Host})
			s.Facts[f.Host] = f
		}
		return s
	}
	active := site(engine.Facts{}, runHold("r7", here))
	active.Runs = []maintenance.ActiveRun{{"r7", "ann@b1", []string{"w-0", "w-9"}}, {"r8", "eve@b1", nil}}
	behind := site(engine.Facts{})
	behind.Rollout = &engine.Rollout{Run: "r5"}
	behind.Behind = []engine.UnfinishedHost{{Host: "w-2"}, {Host: "w-3"}}
	for name, c := range map[string]struct {
		site maintenance.Site
		want []string // kind, run and text of each
	}{
		"nothing": {site(engine.Facts{}, engine.Facts{Unreachable: "no route"}), nil},
		"a run of another bastion": {site(runHold("r1", "b2"), engine.Facts{}, runHold("r1", "b2")), []string{
			"run-under-way r1: run r1 of bob@b2 is under way, and holds w-[0,2]",
		}},
		"a run that failed there": {site(runHold("r1", "b2", func(h *engine.Hold) { h.Step = "reboot" })), []string{
			"run-unfinished r1: run r1 of bob@b2 has not finished its work, and holds w-0",
		}},
		"a dead run of this bastion": {site(runHold("dead", here)), []string{
			"run-unfinished dead: run dead of bob@b1 has not finished its work, and holds w-0",
		}},
		"an expired run": {site(runHold("r1", "b2", func(h *engine.Hold) { h.Expires = now.Add(-time.Hour) })), []string{
			"run-unfinished r1: run r1 of bob@b2 has not finished its work, and holds w-0",
		}},
		"runs of this bastion, each once": {active, []string{
			"run-under-way r7: run r7 of ann@b1 is under way and has w-0 in its plan; it excludes hosts that are held before it begins to work on them",
			"run-under-way r8: run r8 of eve@b1 is under way",
		}},
		"a staging": {site(engine.Facts{}, engine.Facts{StageUnit: "active"}), []string{
			"staging-under-way : an OS is being staged on w-1",
		}},
		"an unfinished roll-out": {behind, []string{
			"unfinished-rollout r5: the roll-out of run r5 is unfinished, and has not reached w-[2-3]",
		}},
		"the hold of a person": {site(heldBy(engine.MaintenanceHold, ann, here).Facts), nil},
	} {
		r := maintenance.Request{Action: engine.HoldHosts, Hosts: []string{"w-0"}, Reason: "fans"}
		p := maintenance.NewPlan(r, maintenance.Observation{Site: c.site}, now)
		var got []string
		for _, n := range p.Notices {
			got = append(got, string(n.Kind)+" "+n.Run+": "+n.Text)
		}
		if !slices.Equal(got, c.want) || len(p.Hosts) != 1 || stepOf(p.Hosts[0]) != "hold" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestRefusedHolds: without a quorum nothing is held, unless by force.
func TestRefusedHolds(t *testing.T) {
	t.Parallel()
	s := maintenance.Site{Facts: map[string]engine.Facts{}, Clusters: map[string]etcdfacts.ClusterFacts{}}
	main := etcdfacts.ClusterFacts{Name: "main"}
	for _, name := range []string{"e-0", "e-1", "e-2"} {
		s.Inventory.Hosts = append(s.Inventory.Hosts, engine.Host{Name: name, Cluster: "main"})
		s.Facts[name] = engine.Facts{Host: name}
		main.Members = append(main.Members, etcdfacts.Member{Name: name, Host: name, Healthy: true})
	}
	s.Inventory.Hosts = append(s.Inventory.Hosts, engine.Host{Name: "w-0"})
	s.Inventory.Clusters = []engine.Cluster{{Name: "main"}}
	s.Clusters["main"] = main
	for _, c := range []struct {
		hosts   []string
		force   bool
		flagged string
		refused bool
		notices int
	}{
		{[]string{"w-0"}, false, "", false, 0},
		{[]string{"w-0", "e-0"}, false, "", false, 1},
		{[]string{"w-0", "e-0", "e-1"}, false, "", true, 0},
		{[]string{"w-0", "e-0", "e-1"}, true, "", false, 1},
		{[]string{"e-0"}, false, "DIMM", true, 0},
	} {
		s := s
		s.Inventory.Hosts = slices.Clone(s.Inventory.Hosts)
		s.Inventory.Hosts[2].Maintenance = c.flagged
		p := maintenance.NewPlan(maintenance.Request{Action: engine.HoldHosts, Hosts: c.hosts, Force: c.force}, maintenance.Observation{Site: s}, now)
		for _, h := range p.Hosts {
			f := h.Failure
			if (f != nil) != c.refused || f != nil && (f.Kind != engine.RefusedFailure || !strings.Contains(f.Cause, "1 of 3 voters would be left") || maintenance.ExitOf(*f) != engine.ExitRefused) {
				t.Errorf("%v: %+v", c.hosts, h)
			}
		}
		if len(p.Notices) != c.notices || c.notices > 0 && p.Notices[0].Kind != engine.QuorumAtRisk {
			t.Errorf("%v: %+v", c.hosts, p.Notices)
		}
	}
}
