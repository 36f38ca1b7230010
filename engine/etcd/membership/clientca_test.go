package membership_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine/etcd/carotation"
	"holdfast/engine/etcd/membership"
)

// rotating returns a cluster of three healthy voters with certificates of the CA old, which is to be replaced by new.
func rotating() membership.State {
	s := membership.State{Cluster: "main", Saved: true, CA: "new", KeepsOldCAs: true, CANames: map[carotation.CA]string{"old": "CN=old"}}
	for _, name := range []string{"a", "b", "c"} {
		trusts := []carotation.CA{"old"}
		s.Hosts = append(s.Hosts, membership.Host{
			Name: name, HasData: true, DataOf: "1" + name, Running: true,
			Certificates: membership.Certificates{File: trusts, Loaded: trusts, Issuers: trusts},
		})
		s.Members = append(s.Members, membership.Member{ID: "1" + name, Name: name, Host: name, Healthy: true, Leader: name == "a"})
	}
	return s
}

func countActions(f membership.Forecast) map[membership.MemberAction]int {
	counts := map[membership.MemberAction]int{}
	for _, step := range f.Steps {
		counts[step.Action]++
	}
	return counts
}

// TestOldCAStaysForClients: a CA that was replaced is dropped only when the inventory says that no client has a certificate from it.
// Until then new members trust it, too, and each plan warns of it.
func TestOldCAStaysForClients(t *testing.T) {
	t.Parallel()
	s := rotating()
	f := membership.Plan(s)
	if n := countActions(f); f.Refusal != nil || n[membership.TrustCA] != 3 || n[membership.Issue] != 3 || n[membership.DropCA] != 0 {
		t.Errorf("%+v", f)
	}
	if len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], `members still trust the CA "CN=old" (SHA-256 old), because clients may have certificates from it`) ||
		!strings.Contains(f.Warnings[0], `clients_done = ["old"]`) {
		t.Errorf("%q", f.Warnings)
	}
	both := []carotation.CA{"new", "old"}
	for i := range s.Hosts {
		s.Hosts[i].Certificates = membership.Certificates{File: both, Loaded: both, Issuers: []carotation.CA{"new"}}
	}
	if f := membership.Plan(s); f.Refusal != nil || len(f.Steps) != 0 || len(f.Warnings) != 1 {
		t.Errorf("%+v", f)
	}
	s.Hosts = append(s.Hosts, membership.Host{Name: "d", Certificates: membership.Certificates{Problem: "there are none"}})
	if cas := s.CAsAfter(membership.MemberStep{Action: membership.Issue, Host: "d"}); len(cas) != 2 {
		t.Errorf("a new member is to trust %v", cas)
	}
	if n := countActions(membership.Plan(s)); n[membership.DropCA] != 0 || n[membership.Promote] != 1 {
		t.Errorf("%+v", n)
	}
	s.Hosts = s.Hosts[:3]
	s.ClientsDone = []carotation.CA{"old"}
	if f := membership.Plan(s); countActions(f)[membership.DropCA] != 3 || len(f.Warnings) != 0 {
		t.Errorf("%+v", f)
	}
}

// TestCAOfOneHostDoesNotStay: a CA that only some members trust is none of the cluster: no client can use it everywhere.
func TestCAOfOneHostDoesNotStay(t *testing.T) {
	t.Parallel()
	s := rotating()
	s.CA = "old"
	s.Hosts[1].Certificates.File = []carotation.CA{"intruder", "old"}
	if f := membership.Plan(s); countActions(f)[membership.DropCA] != 1 || len(f.Warnings) != 0 {
		t.Errorf("%+v", f)
	}
}

// TestOldCAStaysWhenAllExpired: certificates of all members have expired while they trusted the old CA, too. The new ones must not cut off
// the clients of the old CA. A file that cannot be read proves nothing, and a CA of one host is none of the cluster.
func TestOldCAStaysWhenAllExpired(t *testing.T) {
	t.Parallel()
	s := rotating()
	for i := range s.Hosts {
		both := []carotation.CA{"new", "old"}
		s.Hosts[i].Certificates = membership.Certificates{Problem: "they have expired", File: both, Loaded: both, Issuers: []carotation.CA{"new"}}
		s.Members[i].Healthy = false
	}
	s.Hosts[1].Certificates.File = nil
	s.Hosts[2].Certificates.File = []carotation.CA{"intruder", "new", "old"}
	s.Problem = "no member answers"
	f := membership.Plan(s)
	if len(f.Steps) != 3 || len(f.Warnings) != 1 {
		t.Fatalf("%+v", f)
	}
	for _, step := range f.Steps {
		if got := s.CAsAfter(step.MemberStep); step.Action != membership.Issue || !slices.Equal(got, []carotation.CA{"new", "old"}) {
			t.Errorf("%+v: %v", step, got)
		}
	}
	s.Hosts[0].Certificates.Problem = "" // the others' files are as somebody has left them
	s.Hosts[2].Certificates.File = []carotation.CA{"new"}
	if got := s.CAsAfter(f.Steps[2].MemberStep); !slices.Equal(got, []carotation.CA{"new", "old"}) {
		t.Errorf("%v", got)
	}
	s.ClientsDone = []carotation.CA{"old"}
	if got := s.CAsAfter(f.Steps[0].MemberStep); !slices.Equal(got, []carotation.CA{"new"}) {
		t.Errorf("%v", got)
	}
}
