package change

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
)

// answerAll answers each script of each host with the same text.
type answerAll string

func (a answerAll) Run(context.Context, engine.Host, Script) (engine.Output, error) {
	return engine.Output{Stdout: string(a)}, nil
}

// TestReplacedClustersOfALaterVersion: a host whose record of earlier restores has a line that this version does not know is not
// worked on, because the line would be lost.
func TestReplacedClustersOfALaterVersion(t *testing.T) {
	t.Parallel()
	for line, known := range map[string]bool{
		"cluster c1": true, "host b c1": true, "member 1a": true, "member nonsense": true, "revision 7": true, "": true,
		"blessed x": false, "cluster c1 because": false, "host b": false, "member 1a x\x1b[2J": false,
	} {
		r := &Run{Cluster: engine.Cluster{Managed: &engine.ManagedMembers{DataDir: "/var/lib/etcd/default"}}, Hosts: answerAll("clock 1700000000\nreplaced " + line + "\nreplaced cluster c2\ndata\n")}
		r.Prepare()
		h := observer{r}.observeHost(t.Context(), engine.Host{Name: "a"}).host
		want := fmt.Sprintf("/var/lib/holdfast/etcd-replaced has the line %q, which this version of holdfast does not know; use the version that wrote it, or a later one", line)
		if known && h.Unreachable != "" || !known && h.Unreachable != want {
			t.Errorf("%q: %q", line, h.Unreachable)
		}
	}
}

// TestForeignRecord: a record that no run of holdfast wrote is reported, and decides nothing.
func TestForeignRecord(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]string{"adding": "", "removing": "", "aside\x1b[2J": `"aside\x1b[2J", which is not a record`} {
		r := &Run{Cluster: engine.Cluster{Managed: &engine.ManagedMembers{DataDir: "/var/lib/etcd/default"}}, Hosts: answerAll("clock 1700000000\nrecord " + record + "\ndata\n")}
		r.Prepare()
		h := observer{r}.observeHost(context.Background(), engine.Host{Name: "a"}).host
		if want == "" && (h.Unreachable != "" || h.Record != membership.Record(record)) || !strings.Contains(h.Unreachable, want) || want != "" && h.Record != membership.NoRecord {
			t.Errorf("%q: %+v", record, h)
		}
	}
}

// strictHosts fails a test that runs a script on a host which leaves the site.
type strictHosts struct {
	*fakeHosts
	t *testing.T
}

func (s strictHosts) Run(ctx context.Context, host engine.Host, script Script) (engine.Output, error) {
	if host.Leaving {
		s.t.Errorf("%s on %s, which is leaving", script.Purpose, host.Name)
	}
	return s.fakeHosts.Run(ctx, host, script)
}

// TestNobodyConnectsToLeavingHosts: neither the probes nor the search for holds connect to a host that leaves the site.
func TestNobodyConnectsToLeavingHosts(t *testing.T) {
	t.Parallel()
	cluster := &fakeEtcd{members: []membership.Member{{ID: "1", Name: "a", Host: "a", Healthy: true}}}
	r := newFakeRun(&fakeHosts{}, cluster)
	r.Hosts = strictHosts{&fakeHosts{}, t}
	r.Members = []engine.Host{{Name: "a"}, {Name: "b", Retired: true, Leaving: true}}
	r.Prepare()
	s, err := r.Observe(t.Context())
	if err != nil || len(s.Hosts) != 2 || !strings.Contains(s.Hosts[1].Unreachable, "it is leaving") {
		t.Errorf("%+v, %v", s.Hosts, err)
	}
	r.WarnOfHolds(t.Context(), &membership.Forecast{Steps: make([]membership.PlannedStep, 1)})
}

// TestSilentMembersAreWhereTheirDataAre: a member that does not answer is on the host that has its data, although neither its
// name nor its URLs are those of the host, and it is not to be removed for a host that answers.
func TestSilentMembersAreWhereTheirDataAre(t *testing.T) {
	t.Parallel()
	cluster := &fakeEtcd{members: []membership.Member{
		{ID: "a1", Name: "a.example.com", Host: "a", Healthy: true, Leader: true}, {ID: "b1", Name: "b.example.com"}, {ID: "c1", Name: "c.example.com", Host: "c", Healthy: true},
	}}
	r := newFakeRun(&fakeHosts{}, cluster)
	r.Hosts = dataHosts{"a": {probe: walLine(0xa1, 0xc) + "running\n"}, "b": {probe: walLine(0xb1, 0xc) + "record removing\n"}, "c": {probe: walLine(0xc1, 0xc) + "running\n"}}
	for _, retired := range []bool{false, true} {
		r.Members = []engine.Host{{Name: "a"}, {Name: "b", Retired: retired}, {Name: "c"}}
		r.Prepare()
		s, err := r.Observe(t.Context())
		if err != nil || len(s.Members) != 3 || s.Members[1].Host != "b" || r.members[1].Host != "b" {
			t.Fatalf("%+v, %v", s.Members, err)
		}
		f := membership.Plan(s)
		if f.Refusal == nil || f.Refusal.Kind != membership.UnhealthyVoter || len(f.Steps) > 0 {
			t.Errorf("retired %v: %+v, %v", retired, f.Steps, f.Refusal)
		}
		if advice := "host b answers and has its data: start etcd there"; !retired && !strings.Contains(f.Refusal.Text, advice) {
			t.Errorf("%v", f.Refusal)
		}
	}
}

// TestDataDirOfTheHost: without data in data_dir, a host has no data. So data_dir must be the folder that etcd there uses.
func TestDataDirOfTheHost(t *testing.T) {
	t.Parallel()
	for dir, problem := range map[string]string{"": "", "/var/lib/etcd/default": "", "/var/lib/etcd": "has its data in /var/lib/etcd, and data_dir of the cluster is /var/lib/etcd/default"} {
		output := "clock 1700000000\n"
		if dir != "" {
			output += "datadir " + dir + "\n"
		}
		r := &Run{Cluster: engine.Cluster{Managed: &engine.ManagedMembers{DataDir: "/var/lib/etcd/default"}}, Hosts: answerAll(output)}
		if h := (observer{r}).observeHost(t.Context(), engine.Host{Name: "a"}).host; (h.Unreachable == "") != (problem == "") || !strings.Contains(h.Unreachable, problem) {
			t.Errorf("%q: %q", dir, h.Unreachable)
		}
	}
}

// TestReplacedClusterLives: that a cluster was replaced may be a lie of one host. While a quorum of that cluster is healthy,
// its members are not known, so nothing is changed, and its data are not set aside.
func TestReplacedClusterLives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		healthy  int
		problems bool
	}{{0, false}, {1, true}, {2, true}} {
		cluster := &fakeEtcd{members: []membership.Member{{ID: "1", Name: "a", Host: "a", Healthy: true}}, old: []membership.Member{
			{ID: "2", Name: "b", Host: "b", Healthy: c.healthy > 0}, {ID: "3", Name: "c", Host: "c", Healthy: c.healthy > 1}, {ID: "4", Name: "a", Host: "a"},
		}}
		r := newFakeRun(&fakeHosts{}, cluster)
		list := observer{r}.listMembers(t.Context(), []probedHost{
			{host: membership.Host{Name: "a"}}, {host: membership.Host{Name: "b", Replaced: true}}, {host: membership.Host{Name: "c", Replaced: true}},
		})
		if (list.Problem != "") != c.problems || c.problems && !strings.Contains(list.Problem, "b, c") {
			t.Errorf("%d healthy: %q", c.healthy, list.Problem)
		}
	}
}

// TestVotersOfLeavingHosts: nobody asks a voter whose host leaves the site, so nobody knows whether it is dead. No message offers to
// remove it, or to give its data up.
func TestVotersOfLeavingHosts(t *testing.T) {
	t.Parallel()
	r := newFakeRun(&fakeHosts{}, &fakeEtcd{members: []membership.Member{
		{ID: "1", Name: "a", Host: "a", Healthy: true, Leader: true}, {ID: "2", Name: "b", Host: "b", Healthy: true}, {ID: "3", Name: "c", Host: "c"},
	}})
	r.Hosts = strictHosts{&fakeHosts{}, t}
	r.Members = append(r.Members, engine.Host{Name: "c", Retired: true, Leaving: true})
	r.Prepare()
	s, err := r.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Hosts {
		s.Hosts[i].HasData = true
	}
	_, refused := membership.Next(s)
	expectNoRemoval(t, refused)
}

// TestRestoreWithALeavingHost: a host that leaves the site may have the freshest data.
func TestRestoreWithALeavingHost(t *testing.T) {
	t.Parallel()
	r := newFakeRun(&fakeHosts{}, &fakeEtcd{})
	r.Hosts = strictHosts{&fakeHosts{}, t}
	r.Members = append(r.Members, engine.Host{Name: "c", Retired: true, Leaving: true})
	r.Prepare()
	restoring := &Restore{Run: r}
	restoring.Prepare()
	s, err := restoring.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, refused := restore.Next(s)
	expectNoRemoval(t, refused)
}

func expectNoRemoval(t *testing.T, err error) {
	t.Helper()
	if err == nil || strings.Contains(err.Error(), "--lost") || strings.Contains(err.Error(), "--remove-member") || !strings.Contains(err.Error(), "remove leaving = true from it") {
		t.Errorf("refusal: %v", err)
	}
}
