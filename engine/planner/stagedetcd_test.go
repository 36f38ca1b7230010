package planner_test

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// onlyBoots makes steps that boot another OS.
func onlyBoots(t engine.Target, s *engine.Steps) {
	*s = engine.Steps{Reboot: []engine.Step{{Name: "wait for boot", On: t.Host.Name, Do: engine.Op{AwaitBoot: &engine.AwaitBoot{Digest: "new"}}, Timeout: 1e9}}}
}

// TestEtcdOfStagedOS checks that the plan names the version of etcd in a staged
// OS. The plan must not boot a version that etcd does not support there, unless
// the operator allows it. A version that one member has staged counts for the
// members of its cluster that get the same OS.
func TestEtcdOfStagedOS(t *testing.T) {
	for _, tc := range []struct {
		name           string
		staged         string // version in the OS that etcd-1 has staged
		digest         string // digest of that OS
		cluster, runs  string // cluster version, and version of the members
		managed        bool
		insists        bool
		kind           engine.EtcdUpdateKind // "": the plan names no update
		refused, warns bool
		warnsOf        string
	}{
		{name: "the next minor version", staged: "3.6.4", digest: "new", cluster: "3.5.0", runs: "3.5.20", kind: engine.EtcdSupported},
		{name: "the next minor version, promotions not stored", staged: "3.6.4", digest: "new", cluster: "3.5.0", runs: "3.5.16", kind: engine.EtcdMayForgetPromotions, warnsOf: "before 3.5.20"},
		{name: "managed, promotions not stored", staged: "3.6.4", digest: "new", cluster: "3.5.0", runs: "3.5.19", managed: true, kind: engine.EtcdForgetsPromotions, refused: true},
		{name: "managed, insisted", staged: "3.6.4", digest: "new", cluster: "3.5.0", runs: "3.5.19", managed: true, insists: true, kind: engine.EtcdForgetsPromotions, warns: true},
		{name: "a patch", staged: "3.5.17", digest: "new", cluster: "3.5.0", runs: "3.5.16", kind: engine.EtcdSupported},
		{name: "an older patch", staged: "3.5.15", digest: "new", cluster: "3.5.0", runs: "3.5.16", kind: engine.EtcdSupported},
		{name: "the same", staged: "3.5.16", digest: "new", cluster: "3.5.0", runs: "3.5.16"},
		{name: "two minor versions", staged: "3.6.4", digest: "new", cluster: "3.4.0", runs: "3.4.30", kind: engine.EtcdSkips, refused: true},
		{name: "an older minor version", staged: "3.5.16", digest: "new", cluster: "3.6.0", runs: "3.6.4", kind: engine.EtcdDowngrade, refused: true},
		{name: "back, while the cluster has not followed", staged: "3.5.16", digest: "new", cluster: "3.5.0", runs: "3.6.4", kind: engine.EtcdSupported},
		{name: "another major version", staged: "4.0.0", digest: "new", cluster: "3.6.0", runs: "3.6.4", kind: engine.EtcdSkips, refused: true},
		{name: "cluster version not known", staged: "3.7.0", digest: "new", runs: "3.5.16", kind: engine.EtcdSkips, refused: true},
		{name: "insisted", staged: "3.4.30", digest: "new", cluster: "3.6.0", runs: "3.6.4", insists: true, kind: engine.EtcdDowngrade, warns: true},
		{name: "another OS is staged", staged: "3.4.30", digest: "other", cluster: "3.6.0", runs: "3.6.4"},
		{name: "no version is known", staged: "", digest: "new", cluster: "3.6.0", runs: "3.6.4"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := etcdWorld([]*machine{member(0), member(1), member(2)}, 1)
			work := map[string]string{}
			for _, m := range w.hosts {
				m.work, work[m.name] = "reboot", "reboot"
			}
			in := w.input()
			in.Modules, in.AnyEtcdVersion = []engine.Module{namedFake(adjustedFake{fakeModule{work}, onlyBoots})}, tc.insists
			if tc.managed {
				in.Inventory.Clusters[0].Managed = &engine.ManagedMembers{}
			}
			f := in.Facts["etcd-1"]
			f.Deployments = []engine.Deployment{{Digest: tc.digest, Staged: true, Locked: true, Etcd: tc.staged}}
			in.Facts["etcd-1"] = f
			c := in.Clusters["main"]
			c.Version = tc.cluster
			for i := range c.Members {
				c.Members[i].Version = tc.runs
			}
			in.Clusters["main"] = c
			p := planner.NewPlan(in)
			if tc.kind == "" && len(p.EtcdUpdates) > 0 || tc.kind != "" && len(p.EtcdUpdates) != 3 {
				t.Fatalf("updates %+v", p.EtcdUpdates)
			}
			for _, u := range p.EtcdUpdates {
				if u.Kind != tc.kind || u.From != tc.runs || u.To != tc.staged || u.Cluster != "main" {
					t.Errorf("update %+v", u)
				}
			}
			text := strings.Join(p.Refusals, "; ")
			if (len(p.Batches) == 0) != tc.refused || tc.refused != strings.Contains(text, "the staged OS has etcd "+tc.staged) || tc.refused != strings.Contains(text, "--any-etcd-version") {
				t.Errorf("batches %v, refusals %s", p.Batches, text)
			}
			if warned := strings.Contains(strings.Join(p.Warnings, "; "), "(--any-etcd-version)"); warned != tc.warns || (p.Settings["--any-etcd-version"] == "true") != tc.insists {
				t.Errorf("warnings %q, settings %v", p.Warnings, p.Settings)
			}
			if !strings.Contains(strings.Join(p.Warnings, "; "), tc.warnsOf) {
				t.Errorf("warnings %q", p.Warnings)
			}
		})
	}
}
