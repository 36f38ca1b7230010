package membership_test

import (
	"fmt"
	"testing"

	"holdfast/engine/etcd/membership"
)

// Commits of the peers from whose tests the tables have their cases.
const (
	etcdCommit      = "github.com/etcd-io/etcd c34dc7ee0048fd2bcc44d50beff002e5e8069b69"                    // 2026-08-20, after v3.8.0-alpha.0
	openShiftCommit = "github.com/openshift/cluster-etcd-operator b4786ae33ca2aceae72d67e6644e9928ead71f18" // 2026-06-30
)

// stateOf returns the state that a text describes, one letter for each member or host, in a run that took a snapshot:
//
//	h healthy voter           u its service is stopped   - added, never started
//	H healthy, host retired   U stopped, host retired    X like U, and named    x like -, host retired, and named
//	o healthy, on no host of the inventory
//	l learner, caught up      b learner, behind          s learner, not started     L learner, host retired   O learner on no host
//	f new host                n new host, unreachable    R host without a member, retired
func stateOf(text string) membership.State {
	s := membership.State{Cluster: "main", Saved: true}
	for i, c := range text {
		h := membership.Host{Name: fmt.Sprintf("h%d", i+1), Checked: true}
		m := membership.Member{ID: fmt.Sprintf("m%d", i+1), Name: fmt.Sprintf("etcd-%d", i+1), Host: h.Name, Healthy: true}
		h.HasData, h.Running = true, true
		listed, known := true, true
		switch c {
		case 'U', 'X', 'u':
			m.Healthy, h.Running = false, false
		case '-', 'x', 's':
			m.Name, m.Healthy, h.HasData, h.Running = "", false, false, false
		case 'o', 'O':
			m.Host, known = "", false
		case 'f', 'n', 'R':
			listed, h.HasData, h.Running = false, false, false
		}
		switch c {
		case 'H', 'U', 'X', 'x', 'L', 'R':
			h.Retired = true
		case 'n':
			h.Unreachable = "no route to host"
		}
		switch c {
		case 'l', 'L', 'O', 's', 'b':
			m.Learner, m.CaughtUp = true, m.Healthy && c != 'b'
		case 'X', 'x':
			s.Named = append(s.Named, m.ID)
		}
		if listed {
			s.Members = append(s.Members, m)
		}
		if known {
			s.Hosts = append(s.Hosts, h)
		}
	}
	return s
}

// describeNext returns the next step as text, or the cause of the refusal.
func describeNext(s membership.State) string {
	step, err := membership.Next(s)
	if err != nil {
		return string(err.(*membership.Refusal).Kind)
	}
	if step.Action == membership.Done {
		return "done"
	}
	return step.Action.String() + " " + step.Host
}

type peerCase struct {
	state  string
	theirs string // decision of the peer in its own test
	ours   string
	why    string // why our decision is another one
}

func runPeerCases(t *testing.T, peer string, cases []peerCase) {
	t.Helper()
	for _, c := range cases {
		if got := describeNext(stateOf(c.state)); got != c.ours {
			t.Errorf("%s: %s, want %s (%s: %s)", c.state, got, c.ours, peer, c.theirs)
		}
	}
}

// TestEtcdReadyToAdd has the cases of TestIsReadyToAddVotingMember in server/etcdserver/api/membership/cluster_test.go
// (etcdCommit). A voter that etcd's test calls not ready has never started. A new host is the last letter.
func TestEtcdReadyToAdd(t *testing.T) {
	t.Parallel()
	runPeerCases(t, etcdCommit, []peerCase{
		{"---f", "no", "quorum-lost", ""},
		{"h-f", "no", "quorum-lost", ""},
		{"h--f", "no", "quorum-lost", ""},
		{"hf", "yes", "add learner h2", ""},
		{"hh-f", "no", "start h3", ""},
		{"hhhf", "yes", "add learner h4", ""},
		{"hhh-f", "yes", "start h4", "the voter that never started is started first: until then the margin is smaller for nothing"},
		{"f", "no", "create h1", "no voter at all, and no data on any host: a new cluster"},
		{"hhssf", "yes", "several-learners", "two learners are never our own; somebody else is changing the cluster"},
		{"h-llf", "no", "quorum-lost", ""},
	})
}

// TestEtcdReadyToRemove has the cases of TestIsReadyToRemoveVotingMember of the same file. The host of the voter to be
// removed is retired; a voter that never started is named, too.
func TestEtcdReadyToRemove(t *testing.T) {
	t.Parallel()
	runPeerCases(t, etcdCommit, []peerCase{
		{"H", "no", "nothing-wanted", ""},
		{"x--", "no", "quorum-lost", ""},
		{"hx", "yes", "quorum-lost", "etcd's test says itself that the operation would fail: nothing can be committed"},
		{"hH-", "no", "start h3", ""},
		{"hhH", "yes", "remove h3", ""},
		{"hhH-", "yes", "start h4", "no healthy voter is removed while another is down"},
		{"hhhx", "yes", "remove h4", ""},
		{"Hl", "no", "promote h2", "a cluster grows before it shrinks; the removal is the step after"},
		{"H-l", "no", "quorum-lost", ""},
		{"hxl", "yes", "quorum-lost", "the operation would fail"},
		{"hxs", "yes", "quorum-lost", "the operation would fail"},
	})
}

// TestEtcdReadyToPromote has the cases of TestIsReadyToPromoteMember of the same file.
func TestEtcdReadyToPromote(t *testing.T) {
	t.Parallel()
	runPeerCases(t, etcdCommit, []peerCase{
		{"hl", "yes", "promote h2", ""},
		{"-l", "no", "quorum-lost", ""},
		{"hhl", "yes", "promote h3", ""},
		{"h-l", "yes", "quorum-lost", "etcd counts the learner; without a quorum of voters nothing can be committed"},
		{"h--l", "no", "quorum-lost", ""},
		{"hh-l", "yes", "start h3", "all voters are healthy before the membership changes"},
		{"hh--l", "yes", "quorum-lost", "2 of 4 voters"},
	})
}

// TestOpenShiftScaling has the cases of clustermemberremovalcontroller_test.go and clustermembercontroller_test.go in
// pkg/operator (openShiftCommit). A machine that is pending deletion is a retired host here. Cases that
// differ only in machine hooks, configuration maps or IPv6 are left out: there is nothing like them here.
func TestOpenShiftScaling(t *testing.T) {
	t.Parallel()
	const notDead = "that a machine is to go does not say that its member is dead: it may be cut off, and come back"
	runPeerCases(t, openShiftCommit, []peerCase{
		{"hhhH", "scale down by one machine", "remove h4", ""},
		{"Uhh", "scale down by one unhealthy machine pending deletion from 3", "unhealthy-voter", notDead},
		{"Xhh", "the same", "remove h1", ""},
		{"Hhhn", "skip scaling down, 3 healthy, one pending deletion, 3 replicas", "host-not-ready", ""},
		{"Hhh", "the same", "remove h1", "the hosts are the number of replicas: here the inventory asks for two"},
		{"uhho", "skip scaling down by one unhealthy machine, none pending deletion", "unclaimed-member", ""},
		{"uhhh", "the same", "unhealthy-voter", ""},
		{"Uhhh", "scaling down by one unhealthy machine from 4", "unhealthy-voter", notDead},
		{"Uhhh", "unhealthy member pending deletion is removed only if quorum is maintained", "unhealthy-voter", notDead},
		{"Xhhh", "the same", "remove h1", ""},
		{"hhh", "no excessive machine", "done", ""},
		{"hhho", "excessive machine without deletion", "unclaimed-member", ""},
		{"hhhHH", "scale down only by one machine at a time", "remove h4", ""},
		{"hhhR", "no member for an excessive machine that is pending deletion", "done", ""},
		{"hhhH", "excessive machine that is not known as a voting member", "remove h4", "there is no list of voters but that of etcd"},
		{"hhR", "mismatch of the members between cache and cluster", "done", "there is no list of voters but that of etcd"},
		{"Hhh", "member machine with deletion time, 3 replicas: not removed", "remove h1", "the inventory asks for two"},
		{"Hhhf", "the same, with a new machine", "add learner h4", ""},
		{"HHHh", "several pending deletion, and one new: one is removed", "remove h1", ""},
		{"uhhH", "member not removed when unhealthy members found", "unhealthy-voter", ""},
		{"uhhH", "keep voting member pending deletion if cluster is unhealthy", "unhealthy-voter", ""},
		{"UUhhh", "one at a time when more than one is unhealthy and pending deletion", "unhealthy-voter", notDead},
		{"XXhhh", "one at a time when more than one is unhealthy and pending deletion", "remove h1", ""},
		{"hhhL", "learning member pending deletion is removed", "remove h4", ""},
		{"h", "a member with machine and node, or with one of them, is kept", "done", ""},
		{"o", "a member without machine and node is removed", "nothing-wanted", "nothing is inferred from absence"},
		{"oh", "the same", "unclaimed-member", "nothing is inferred from absence"},
		{"h", "no new node: no member is added", "done", ""},
		{"hf", "a node with a running pod is added", "add learner h2", ""},
		{"hn", "a node without a running pod is not added", "host-not-ready", ""},
		{"hR", "a node whose machine is pending deletion is not added", "done", ""},
		{"hl", "a learner is promoted", "promote h2", ""},
		{"hO", "a learner without machine hook is not promoted", "unclaimed-member", ""},
		{"hL", "a learner pending deletion is not promoted", "remove h2", ""},
	})
}

// TestOpenShiftSafeToScale has the cases of Test_CheckSafeToScaleCluster in pkg/operator/ceohelpers/bootstrap_test.go
// (openShiftCommit): whether a cluster may change now. Cases that differ only in the progress of the bootstrap are
// left out: there is none here.
func TestOpenShiftSafeToScale(t *testing.T) {
	t.Parallel()
	const grows = "a cluster grows from one voter, and a learner has no vote"
	runPeerCases(t, openShiftCommit, []peerCase{
		{"hhhf", "3 of 3 healthy: safe", "add learner h4", ""},
		{"hhhH", "the same", "remove h4", ""},
		{"hhf", "2 of 2 healthy, 3 required: not safe", "add learner h3", grows},
		{"uhhf", "2 of 3 healthy: not safe", "unhealthy-voter", ""},
		{"uuhhhf", "3 of 5 healthy: not safe", "unhealthy-voter", ""},
		{"hf", "two nodes, 1 of 1 healthy, 2 required: not safe", "add learner h2", grows},
		{"uhf", "two nodes, 1 of 2 healthy: not safe", "quorum-lost", ""},
		{"uhh", "two nodes, 2 of 3 healthy: not safe", "unhealthy-voter", ""},
		{"hR", "unsupported configuration, 1 of 1 healthy: safe", "done", ""},
	})
}
