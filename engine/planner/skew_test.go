package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
	"holdfast/engine/planner"
)

// newVersionSite plans a site of one control plane host and two workers in a
// pool after it. A version is written as booted>target. A target that is staged
// nowhere is unknown, unless the inventory names its version.
func newVersionSite(control, first, second string, skew int, say func(*planner.Input)) engine.Plan {
	w := &world{pools: []engine.Pool{{Name: "control"}, {Name: "worker", After: []string{"control"}, MaxSkew: &skew}}}
	in := planner.Input{Facts: map[string]engine.Facts{}, Request: planner.Request{Desired: map[string]engine.Desired{}}}
	work := map[string]string{}
	facts := map[string]engine.Facts{}
	desired := map[string]engine.Desired{}
	for name, v := range map[string]string{"c": control, "w-1": first, "w-2": second} {
		pool := "worker"
		if name == "c" {
			pool = "control"
		}
		from, to, changes := strings.Cut(v, ">")
		m := &machine{name: name, pool: pool}
		f := engine.Facts{Host: name, BootID: "boot-1", Clock: now, Deployments: []engine.Deployment{{Digest: from, Version: from, Booted: true}}}
		if changes {
			m.work, work[name] = "os", "os"
			f.Deployments = append(f.Deployments, engine.Deployment{Digest: to, Version: to, Staged: true, Locked: true})
		} else {
			to = from
		}
		w.hosts = append(w.hosts, m)
		facts[name], desired[name] = f, engine.Desired{OS: &engine.OS{Commit: to}}
	}
	in = w.input()
	in.Facts, in.Desired, in.Modules = facts, desired, []engine.Module{namedFake(versionModule{})}
	if say != nil {
		say(&in)
	}
	return planner.NewPlan(in)
}

// versionModule boots the desired OS.
type versionModule struct{}

func (m versionModule) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	if d.OS == nil || f.Booted() == nil || f.Booted().Digest == d.OS.Commit {
		return engine.Difference{}, nil
	}
	return engine.Difference{Steps: m.planSteps, Changes: []engine.Change{{Resource: "os", After: d.OS.Commit, Actions: []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}}}}}, nil
}

func (versionModule) planSteps(t engine.Target, _ []engine.Change) engine.Steps {
	steps := engine.Steps{Reboot: []engine.Step{{Name: "wait for boot", On: t.Host.Name, Do: engine.Op{AwaitBoot: &engine.AwaitBoot{Digest: t.Desired.OS.Commit}}, Timeout: 1}}}
	if t.Facts.Staged() == nil {
		steps.Stage = []engine.Step{{Name: "stage", On: t.Host.Name, Do: engine.Op{Exec: &engine.Exec{Script: engine.NewScript("true")}}, Timeout: 1}}
	}
	return steps
}

// Where several versions are too far apart, the plan always names the same one.
func TestSkewNamesTheSameVersion(t *testing.T) {
	said := map[string]bool{}
	for range 50 {
		for _, x := range newVersionSite("4.16.1>4.20.0", "4.14.0", "4.15.0", 1, nil).Excluded {
			said[x.Reason] = true
		}
	}
	if len(said) != 1 {
		t.Errorf("the same site gives %d plans: %v", len(said), said)
	}
}

// The distance between hosts of a pool and hosts of the pools before it never
// exceeds max_skew.
func TestSkewOfPools(t *testing.T) {
	unstaged := func(in *planner.Input) {
		f := in.Facts["c"]
		f.Deployments = f.Deployments[:1]
		in.Facts["c"] = f
	}
	kubelets := func(control, worker, target string) func(*planner.Input) {
		return func(in *planner.Input) {
			c := kubefacts.ClusterFacts{Name: "main"}
			for i := range in.Inventory.Pools {
				in.Inventory.Pools[i].VersionOf, in.Inventory.Pools[i].Kubernetes = engine.KubeletVersion, "main"
			}
			in.Inventory.Kubernetes = []engine.KubernetesCluster{{Name: "main"}}
			for i := range in.Inventory.Hosts {
				h := &in.Inventory.Hosts[i]
				h.Kubernetes = "main"
				v := worker
				if h.Name == "c" {
					v = control
				}
				c.Nodes = append(c.Nodes, kubefacts.Node{Name: h.Name, Ready: true, KubeletVersion: v})
			}
			d := *in.Desired["w-1"].OS
			d.Version = target
			in.Desired["w-1"] = engine.Desired{OS: &d}
			in.Kubernetes = map[string]kubefacts.ClusterFacts{"main": c}
			planner.AddNodes(in.Inventory, in.Facts, in.Kubernetes, in.Now)
		}
	}
	for _, tc := range []struct {
		name                   string
		control, first, second string
		skew                   int
		say                    func(*planner.Input)
		want                   string // batches, and the exclusions
	}{
		{"one minor at a time", "4.17.1>4.18.0", "4.17.1>4.18.0", "4.17.1>4.18.0", 1, nil, "c|w-1|w-2;"},
		{"two at once", "4.16.1>4.18.0", "4.16.1>4.18.0", "4.16.1", 1, nil, ";c: it would run 4.18.0 while hosts of pool worker run 4.16.1, and max_skew of pool worker is 1"},
		{"two at once, and two are allowed", "4.16.1>4.18.0", "4.16.1>4.18.0", "4.16.1", 2, nil, "c|w-1;"},
		{"a worker that was left behind", "4.17.0>4.18.0", "4.16.9>4.18.0", "4.17.0", 1, nil, ";c: it would run 4.18.0 while hosts of pool worker run 4.16.9"},
		{"the worker is ahead", "4.16.0", "4.16.0>4.18.0", "4.16.0", 1, nil, ";w-1: it would run 4.18.0 while hosts of pool control run 4.16.0"},
		{"not staged yet: it is checked then", "4.16.1>4.18.0", "4.16.1", "4.16.1", 1, unstaged, "c;"},
		{"it moves to a version that is not known yet", "4.19.0>4.18.5", "4.19.0>4.17.3", "4.18.0", 1, unstaged, "c|w-1;"},
		{"the inventory knows it", "4.16.1>4.18.0", "4.16.1", "4.16.1", 1, func(in *planner.Input) {
			unstaged(in)
			in.Desired["c"] = engine.Desired{OS: &engine.OS{Commit: "4.18.0", Version: "4.18.0"}}
		}, ";c: it would run 4.18.0"},
		{"hosts of which nobody knows what they run", "4.16.1>4.17.0", "4.16.1>4.17.0", "4.16.1>4.17.0", 1, func(in *planner.Input) {
			for name, f := range in.Facts {
				for i := range f.Deployments {
					f.Deployments[i].Version = ""
				}
				in.Desired[name] = engine.Desired{OS: &engine.OS{Commit: "4.17.0", Version: "4.17"}}
			}
		}, "c|w-1|w-2;"},
		{"a version command that fails", "4.14.0", "4.14.0>4.20.0", "4.14.0", 1, func(in *planner.Input) {
			in.Inventory.Pools[0].VersionCommand = "kubelet --version"
		}, ";w-1: version_command of pool control prints no version on c"},
		{"kubelets that are not of the version of the OS", "9.1.0", "9.0.0>9.2.0", "9.0.0", 1, kubelets("v1.30.4", "v1.29.1", "1.31.0"), "w-1;"},
		{"kubelets too far apart", "9.1.0", "9.0.0>9.2.0", "9.0.0", 1, kubelets("v1.29.4", "v1.29.1", "1.31.0"), ";w-1: it would run 1.31.0 while hosts of pool control run v1.29.4"},
		{"a kubelet that is not known", "9.1.0", "9.0.0>9.2.0", "9.0.0", 1, kubelets("", "v1.29.1", "1.31.0"), ";w-1: the node of c in pool control reports no version of its kubelet"},
		{"no label, and the inventory knows what it is", "4.14.0", "4.14.0>4.20.0", "4.14.0", 1, func(in *planner.Input) {
			in.Facts["c"].Deployments[0].Version = ""
			in.Desired["c"] = engine.Desired{OS: &engine.OS{Commit: "4.14.0", Version: "4.14"}}
		}, ";w-1: it would run 4.20.0 while hosts of pool control run 4.14"},
		{"a label that says nothing", "4.16.1>stable", "4.16.1", "4.16.1", 1, nil, ";c: it would run stable"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newVersionSite(tc.control, tc.first, tc.second, tc.skew, tc.say)
			var batches, out []string
			for _, b := range p.Batches {
				batches = append(batches, strings.Join(b.Hosts, " "))
			}
			for _, x := range p.Excluded {
				out = append(out, fmt.Sprintf("%s: %s", x.Host, x.Reason))
			}
			got := strings.Join(batches, "|") + ";" + strings.Join(out, ", ")
			if !strings.HasPrefix(got, tc.want) || strings.HasSuffix(tc.want, ";") && got != tc.want {
				t.Errorf("got %s\nwant %s", got, tc.want)
			}
		})
	}
}

// The plan names a host whose version is not compared.
func TestSkewNamesWhatIsNotCompared(t *testing.T) {
	p := newVersionSite("4.14.0", "4.14.0>4.15.0", "4.14.0", 1, func(in *planner.Input) { in.Facts["c"].Deployments[0].Version = "" })
	if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "does not count c: the versions of their OS are not known") {
		t.Errorf("%q", p.Warnings)
	}
}
