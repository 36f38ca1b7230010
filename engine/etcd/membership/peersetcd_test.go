package membership_test

import "testing"

// TestEtcdValidateChange has the cases of TestClusterValidateConfigurationChangeV3 in server/etcdserver/api/membership/cluster_test.go
// (etcdCommit): changes that etcd does not write to its log. Its cluster has a learner, two voters, and a member that was removed. Where the
// learner does not matter, it is left out. Requests that holdfast never makes are states in which it does something else.
func TestEtcdValidateChange(t *testing.T) {
	t.Parallel()
	const noURLs = "holdfast never changes the peer URL of a member: retire its host, and add it again"
	runPeerCases(t, etcdCommit, []peerCase{
		{"hhH", "remove a voter: yes", "remove h3", ""},
		{"hhf", "add a member with the ID of a removed one: no", "add learner h3", "etcd gives the member of a host that comes back a new ID"},
		{"hhR", "remove a removed member: no", "done", ""},
		{"hhl", "add a member with the ID of another: no", "promote h3", "the host has a member, so it gets no second one"},
		{"hhb", "add a member with the peer URL of another: no", "await h3", "the same; and the inventory refuses two hosts with one address"},
		{"hh", "remove a member that never was: no", "done", ""},
		{"hhf", "add a member with a new ID and URL: yes", "add learner h3", "each new member begins as a learner"},
		{"hhf", "change the peer URL of a member that never was: no", "add learner h3", noURLs},
		{"hh", "change a peer URL to that of another: no", "done", noURLs},
		{"hh", "change a peer URL to a new one: yes", "done", noURLs},
		{"hhh", "promote a voter: no", "done", ""},
		{"hhf", "promote a member that never was: no", "add learner h3", ""},
		{"hhlf", "add a second learner: no", "promote h3", "the learner that is there votes first"},
		{"hhsf", "the same, the learner has not started", "start h3", ""},
		{"hhl", "promote the learner: yes", "promote h3", ""},
	})
}

// TestEtcdStrictReconfigCheck has the cases of etcd's tests (etcdCommit) of --strict-reconfig-check, with which etcd refuses changes that cost the
// quorum, and of learners: TestRejectUnhealthyAdd and TestRejectUnhealthyRemove in tests/integration/cluster_test.go, TestMemberAdd and
// TestMemberRemove in tests/common/member_test.go, TestCtlV3MemberAddAsLearnerWithOneMemberDown in tests/e2e/ctl_v3_member_test.go, and
// TestMemberPromote and TestMaxLearnerInCluster in tests/integration/clientv3/cluster_test.go. The last cases have no test there, but a rule in
// mayRemoveMember and isLearnerReady in server/etcdserver/server.go.
func TestEtcdStrictReconfigCheck(t *testing.T) {
	t.Parallel()
	const allHealthy = "nothing changes while a voter is down that may come back"
	runPeerCases(t, etcdCommit, []peerCase{
		{"uhhf", "1 of 3 down, add: no", "unhealthy-voter", ""},
		{"hhhf", "it is back, add: yes", "add learner h4", ""},
		{"uuhhH", "2 of 5 down, remove an active one: no", "unhealthy-voter", ""},
		{"Uuhhh", "2 of 5 down, remove one of these: yes", "unhealthy-voter", allHealthy},
		{"Xuhhh", "the same", "remove h1", "a person says that it is dead"},
		{"Huhhh", "1 of 5 down, remove an active one: yes", "unhealthy-voter", allHealthy},

		{"hf", "add to one member: yes, also without contact to others", "add learner h2", ""},
		{"hhhf", "add to three members in contact: yes", "add learner h4", ""},
		{"H", "remove the only member: no", "nothing-wanted", ""},
		{"hhH", "remove one of three in contact: yes", "remove h3", ""},

		{"uhhf", "1 of 3 down, add a learner: no", "unhealthy-voter", ""},
		{"uhhhf", "1 of 4 down, add a learner: yes", "unhealthy-voter", allHealthy},
		{"uhhhhf", "1 of 5 down, add a learner: yes", "unhealthy-voter", allHealthy},
		{"uuhhhf", "2 of 5 down, add a learner: no", "unhealthy-voter", ""},

		{"hhhs", "promote a learner that has not started: no", "start h4", ""},
		{"hhhl", "it has caught up: yes", "promote h4", ""},
		{"hhhss", "add a third learner, if two are allowed: no", "several-learners", "one learner at a time"},

		{"hhL", "remove a learner: yes", "remove h3", ""},
		{"uhhL", "the same while a voter is down: yes", "unhealthy-voter", allHealthy},
		{"hhb", "promote a learner that has less than 90 % of the entries: no", "await h3", ""},
	})
}
