package membership_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/etcd/carotation"
	"holdfast/engine/etcd/membership"
)

// addForeignCA lets the root of a host use certificates of a CA of its own.
func addForeignCA(s membership.State, host int) membership.State {
	c := &s.Hosts[host].Certificates
	c.File, c.Loaded, c.Issuers = []carotation.CA{"evil", "old"}, []carotation.CA{"evil", "old"}, []carotation.CA{"evil"}
	s.CANames = map[carotation.CA]string{"evil": "CN=ours", "old": "CN=etcd-ca", "new": "CN=etcd-next"}
	return s
}

// TestForeignCAIsNotSpread: a CA that only one member trusts, and that the inventory does not name, gets into no file of others. The
// refusal names it. Its member can still be removed.
func TestForeignCAIsNotSpread(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]membership.State{
		"of a follower":               addForeignCA(newTrustWorld(3, 0, false).state(carotation.Wanted{Issuer: "old"}), 1),
		"of the leader":               addForeignCA(newTrustWorld(3, 0, false).state(carotation.Wanted{Issuer: "old"}), 0),
		"of one of two":               addForeignCA(newTrustWorld(2, 0, true).state(carotation.Wanted{Issuer: "old"}), 1),
		"while the CA is replaced":    addForeignCA(newTrustWorld(3, 0, false).state(carotation.Wanted{Issuer: "new"}), 1),
		"while another host is added": addForeignCA(newTrustWorld(3, 1, false).state(carotation.Wanted{Issuer: "old"}), 1),
	} {
		step, err := membership.Next(s)
		var refusal *membership.Refusal
		if !errors.As(err, &refusal) || refusal.Kind != membership.UnknownCA {
			t.Errorf("%s: %+v, %v", name, step, err)
			continue
		}
		if !strings.Contains(refusal.Text, `"CN=ours" (SHA-256 evil)`) || !strings.Contains(refusal.Text, refusal.Host) || refusal.Host != s.Hosts[map[bool]int{true: 0, false: 1}[name == "of the leader"]].Name {
			t.Errorf("%s: %s: %s", name, refusal.Host, refusal.Text)
		}
	}
	s := addForeignCA(newTrustWorld(3, 0, false).state(carotation.Wanted{Issuer: "old"}), 1)
	s.Hosts[1].Retired = true
	if step, err := membership.Next(s); err != nil || step.Action != membership.Remove || step.Host != "h1" {
		t.Errorf("retired: %+v, %v", step, err)
	}
	s = addForeignCA(newTrustWorld(3, 0, false).state(carotation.Wanted{Issuer: "old", Also: []carotation.CA{"evil"}}), 1)
	if step, err := membership.Next(s); err != nil || step.Action != membership.TrustCA || !strings.Contains(step.Reason, `"CN=ours" (SHA-256 evil)`) {
		t.Errorf("named in the inventory: %+v, %v", step, err)
	}
}

// TestHostJoinsWithOldCA: while the CA is replaced, a new host gets the old CA, too, if all members trust it.
func TestHostJoinsWithOldCA(t *testing.T) {
	t.Parallel()
	w := newTrustWorld(1, 1, false)
	w.hosts[0].file, w.hosts[0].loaded = oldCA|newCA, oldCA|newCA
	s := w.state(carotation.Wanted{Issuer: "new"})
	s.CANames = map[carotation.CA]string{"old": "CN=etcd-ca", "new": "CN=etcd-next"}
	step := membership.MemberStep{Action: membership.Issue, Host: "h1"}
	if got := s.CAsAfter(step); len(got) != 2 {
		t.Errorf("%q", got)
	}
	first, err := membership.Next(s)
	if err != nil || first.Action != membership.Issue {
		t.Fatalf("%+v, %v", first, err)
	}
	s.CA = "old"
	w.hosts[0].issuer = newCA
	s = w.state(carotation.Wanted{Issuer: "old"})
	s.Members = s.Members[:1]
	if step, err := membership.Next(s); err != nil {
		t.Errorf("%+v, %v", step, err)
	}
}

// TestStepsNameTheirCAs: the plan names each CA that a member is to trust from then on, by its subject and its fingerprint.
func TestStepsNameTheirCAs(t *testing.T) {
	t.Parallel()
	s := newTrustWorld(3, 0, false).state(carotation.Wanted{Issuer: "new"})
	s.CANames = map[carotation.CA]string{"old": "CN=etcd-ca", "new": "CN=etcd\x1b[2J"}
	f := membership.Plan(s)
	named, dropped := 0, 0
	for _, step := range f.Steps {
		switch step.Action {
		case membership.TrustCA:
			if named++; step.Reason != `it is to trust the CA "CN=etcd\x1b[2J" (SHA-256 new), too` {
				t.Error(step.Reason)
			}
		case membership.DropCA:
			if dropped++; step.Reason != `no member needs the CA "CN=etcd-ca" (SHA-256 old) any more` {
				t.Error(step.Reason)
			}
		}
	}
	if named != 3 || dropped != 3 || f.Refusal != nil {
		t.Errorf("%+v", f)
	}
}

// checkIntruder lets the root of each member in turn add a CA of its own. No other host may be told to trust this CA. There is
// one exception: if no other member has usable certificates, nobody can contradict, and a host without usable ones may get it.
func (w trustWorld) checkIntruder(t *testing.T, goal carotation.Wanted) {
	t.Helper()
	for i := range w.n {
		if h := w.hosts[i]; !h.listed || h.loaded == 0 || h.issuer == 0 || h.expired {
			continue
		}
		s := addForeignCA(w.state(goal), i)
		step, err := membership.Next(s)
		if err != nil || step.Action != membership.Issue && !step.Action.RestartsEtcd() || indexOf(step) == i {
			continue
		}
		witnesses := 0
		for j := range w.n {
			if h := w.hosts[j]; j != i && j != indexOf(step) && h.listed && h.issuer != 0 && !h.expired {
				witnesses++
			}
		}
		if target := w.hosts[indexOf(step)]; slices.Contains(s.CAsAfter(step), "evil") && (witnesses > 0 || target.loaded != 0 && !target.expired) {
			t.Fatalf("%+v spreads the CA of h%d in %+v", step, i, w)
		}
	}
}
