package membership_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/etcd/membership"
)

// TestRefusalShowsArithmetic checks the texts that a person decides by.
func TestRefusalShowsArithmetic(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		"Uhh":   "etcd cluster main: 3 voters, 2 healthy: removing etcd-1 would leave 2 of 2, none to spare; start it, or if it is dead, use --remove-member etcd-1",
		"Uhhhh": "5 voters, 4 healthy: removing etcd-1 would leave 4 of 4, 1 to spare",
		"uhh":   "3 voters, 2 healthy, the quorum is 2: etcd-1 may come back",
		"uuh":   "1 of 3 voters are healthy, and the quorum is 2",
		"oh":    "member etcd-1 is on no host that names the cluster",
		"hnn":   "no host without a member can have one: h2: no route to host; h3: no route to host",
		"hfn":   "only host h2 of those without a member can have one (h3: no route to host): with 2 voters the quorum is 2, so 0 may fail, no more than with 1",
	} {
		if _, err := membership.Next(stateOf(state)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", state, err, want)
		}
	}
	s := stateOf("hhh")
	s.Alarms = []string{"NOSPACE on etcd-1"}
	if _, err := membership.Next(s); err == nil || !strings.Contains(err.Error(), "alarm NOSPACE on etcd-1; clear it") {
		t.Error(err)
	}
	s.Problem = "no leader"
	if got := describeNext(s); got != string(membership.MembersUnknown) {
		t.Error(got)
	}
}

// describeSteps returns the steps of a forecast as text, with the voters after each change.
// TestMemberWithoutData: a member answers, and the data_dir of the inventory has no data on its host. So data_dir is wrong, and that a host
// has no data proves nothing.
func TestMemberWithoutData(t *testing.T) {
	t.Parallel()
	s := stateOf("hhh")
	s.Hosts[1].HasData = false
	if _, err := membership.Next(s); err == nil || !strings.Contains(err.Error(), "runs on host "+s.Hosts[1].Name+", which has no data in the data_dir of the inventory") {
		t.Errorf("%v", err)
	}
}

func describeSteps(f membership.Forecast) []string {
	var out []string
	for _, s := range f.Steps {
		text := s.Action.String()
		if s.Host != "" {
			text += " " + s.Host
		}
		if s.Action.ChangesMembership() || s.Action == membership.Create {
			count, _ := json.Marshal(s.After)
			text += " " + string(count)
		}
		out = append(out, text)
	}
	return out
}

// TestPlan checks whole changes: from nothing to two voters, the replacement of a dead member, and the move of the only
// voter, which leads, to another host.
func TestPlan(t *testing.T) {
	t.Parallel()
	fresh := stateOf("ff")
	fresh.Saved = false
	for i := range fresh.Hosts {
		fresh.Hosts[i].Checked = false
	}
	dead := stateOf("uhh")
	dead.Saved, dead.Hosts[0].HasData = false, false
	moved := stateOf("Hf")
	moved.Members[0].Leader = true
	for name, c := range map[string]struct {
		state membership.State
		want  []string
	}{
		"from nothing": {fresh, []string{
			"preflight h1", `create h1 {"voters":1,"healthy":1}`, "forget h1", "preflight h2", `add learner h2 {"voters":1,"healthy":1}`,
			"start h2", `promote h2 {"voters":2,"healthy":2}`, "forget h2",
		}},
		"dead": {dead, []string{
			"snapshot", `remove h1 {"voters":2,"healthy":2}`, `add learner h1 {"voters":2,"healthy":2}`, "start h1", `promote h1 {"voters":3,"healthy":3}`, "forget h1",
		}},
		"moved": {moved, []string{
			`add learner h2 {"voters":1,"healthy":1}`, "start h2", `promote h2 {"voters":2,"healthy":2}`, "forget h2",
			"move leader h1", `remove h1 {"voters":1,"healthy":1}`, "set aside h1",
		}},
	} {
		f := membership.Plan(c.state)
		if got := describeSteps(f); f.Refusal != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v %s", name, f.Refusal, strings.Join(got, "\n"))
		}
	}
	if f := membership.Plan(stateOf("hhUf")); f.Refusal == nil || len(f.Steps) > 0 {
		t.Errorf("%+v", f)
	}
}

// TestWarnings checks the arithmetic of even and of large clusters.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		"h": "", "hff": "", "hH": "", "hhhhhhh": "",
		"hhhf":      "etcd cluster main: 4 voters: the quorum is 3, so 1 may fail, no more than with 3 voters",
		"hhhhhhhff": "etcd cluster main: 9 voters: each write waits for 5 of them; etcd recommends at most 7 voters",
	} {
		if got := strings.Join(membership.Warnings(stateOf(state)), "\n"); got != want {
			t.Errorf("%s: %q", state, got)
		}
	}
}

// TestPlanNamesListedMembers: a step about a member that etcd lists has its ID, and only a member that the plan itself adds has none yet.
func TestPlanNamesListedMembers(t *testing.T) {
	t.Parallel()
	s := stateOf("hhf")
	s.Hosts[1].Retired = true
	s.Members[1].ID = "new member of h2" // a text decides nothing
	var got []string
	for _, step := range membership.Plan(s).Steps {
		got = append(got, step.Action.String()+" "+step.Host+" "+step.Member)
	}
	for _, want := range []string{"promote h3 ", "remove h2 new member of h2"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	learner := stateOf("hf")
	learner.Members = append(learner.Members, membership.Member{ID: "new member of h2", Name: "h2", Host: "h2", Learner: true, Healthy: true, CaughtUp: true})
	learner.Hosts[1].HasData, learner.Hosts[1].DataOf, learner.Hosts[1].Record = true, "new member of h2", membership.Adding
	if steps := membership.Plan(learner).Steps; len(steps) == 0 || steps[0].Action != membership.Promote || steps[0].Member != "new member of h2" {
		t.Errorf("%+v", steps)
	}
}

// TestInterruptedRestore: a restore that has not ended is named, with the command that goes on with it, and not taken for data
// that somebody should move.
func TestInterruptedRestore(t *testing.T) {
	t.Parallel()
	f := membership.Plan(membership.State{Cluster: "main", Hosts: []membership.Host{{Name: "a"}, {Name: "b", HasData: true, Running: true, Record: membership.Restoring}}})
	want := "etcd cluster main: a restore of it on host b has not ended; go on with it: holdfast etcd restore main"
	if len(f.Steps) != 0 || f.Refusal == nil || f.Refusal.Error() != want {
		t.Errorf("%+v %v", f.Steps, f.Refusal)
	}
}

// TestDataAreNeverTakenOver: etcd is never started over data of another member, or of another cluster.
func TestDataAreNeverTakenOver(t *testing.T) {
	t.Parallel()
	voters := func(names ...string) (list []membership.Member) {
		for i, n := range names {
			list = append(list, membership.Member{ID: "1" + n, Name: n, Host: n, Healthy: true, Leader: i == 0})
		}
		return list
	}
	never := membership.State{Cluster: "main", Saved: true, Members: voters("a", "b", "c")}
	for _, n := range []string{"a", "b", "c"} {
		never.Hosts = append(never.Hosts, membership.Host{Name: n, HasData: true, DataOf: "1" + n, Running: true})
	}
	c := &never.Members[2] // it was added and has never started
	c.Name, c.Healthy = "", false
	never.Hosts[2].DataOf, never.Hosts[2].Running = "another", false
	if f := membership.Plan(never); f.Refusal == nil || f.Refusal.Kind != membership.UnhealthyVoter || len(f.Steps) != 0 {
		t.Errorf("over data: %v %v", describeSteps(f), f.Refusal)
	}
	never.Hosts[2].HasData, never.Hosts[2].DataOf = false, ""
	if f := membership.Plan(never); f.Refusal != nil || len(f.Steps) == 0 || f.Steps[0].Action != membership.Start {
		t.Errorf("without data: %v %v", describeSteps(f), f.Refusal)
	}
	twice := membership.State{Cluster: "main", Saved: true}
	for _, n := range []string{"a", "b"} {
		twice.Hosts = append(twice.Hosts, membership.Host{Name: n, HasData: true, DataOf: "1" + n, Record: membership.Creating, Checked: true})
	}
	if f := membership.Plan(twice); f.Refusal == nil || len(f.Steps) != 0 || !strings.Contains(f.Refusal.Text, "host a has data of etcd") {
		t.Errorf("two hosts on which runs were creating the cluster: %v %v", describeSteps(f), f.Refusal)
	}
	twice.Hosts[0].HasData, twice.Hosts[0].Record = false, membership.NoRecord
	if f := membership.Plan(twice); f.Refusal != nil || f.Steps[0].Action != membership.Start || f.Steps[0].Host != "b" {
		t.Errorf("one: %v %v", describeSteps(f), f.Refusal)
	}
}

// TestDataOfListedMembersStay: data are never set aside that are, or may be, of a member that etcd lists, whatever a record
// says. The member may be on no known host: its name and its URLs do not have to be those of the inventory.
func TestDataOfListedMembersStay(t *testing.T) {
	t.Parallel()
	for dataOf, want := range map[string]string{"m2": "unclaimed-member", "": "unclaimed-member", "m9": "set aside h2"} {
		s := stateOf("hUhh")
		s.Members[1].Host = ""
		s.Hosts[1].DataOf, s.Hosts[1].Record = dataOf, membership.Removing
		if got := describeNext(s); got != want {
			t.Errorf("data of %q: %s, want %s", dataOf, got, want)
		}
		s.Members = membership.PlaceByData(s.Members, s.Hosts)
		if want := map[string]string{"m2": "unhealthy-voter"}[dataOf]; want != "" && describeNext(s) != want {
			t.Errorf("placed: %s, want %s", describeNext(s), want)
		}
	}
}

// TestUnclaimedMemberMayBeOnAHost: a member on no known host may be the one of a host that cannot be asked. So its removal is
// not the first advice.
func TestUnclaimedMemberMayBeOnAHost(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		"oh":  "member etcd-1 is on no host that names the cluster; add its host to the inventory, retired if the member is to go, or remove it with --remove-member etcd-1",
		"ohn": "member etcd-1 is not known to be on a host that names the cluster; it may be of h3 (no route to host): bring it back, or else add its host",
	} {
		s := stateOf(state)
		s.Members[0].Healthy = false
		s.Members = append(s.Members, membership.Member{ID: "m8", Name: "x", Host: "x", Healthy: true}, membership.Member{ID: "m9", Name: "y", Host: "y", Healthy: true})
		s.Hosts = append(s.Hosts, membership.Host{Name: "x", HasData: true}, membership.Host{Name: "y", HasData: true})
		if _, err := membership.Next(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", state, err, want)
		}
	}
}

// TestPlaceByData: the data of a host tell more about the host of a member that does not answer than its name and its URLs do.
func TestPlaceByData(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		members []membership.Member
		hosts   []membership.Host
		want    string
	}{
		"on no host": {
			[]membership.Member{{ID: "1", Host: ""}, {ID: "2", Host: ""}}, []membership.Host{{Name: "a", HasData: true, DataOf: "1"}}, "a ",
		},
		"guessed, and elsewhere": {
			[]membership.Member{{ID: "1", Host: "a"}}, []membership.Host{{Name: "a"}, {Name: "b", HasData: true, DataOf: "1"}}, "b",
		},
		"two were exchanged": {
			[]membership.Member{{ID: "1", Host: "a"}, {ID: "2", Host: "b"}},
			[]membership.Host{{Name: "a", HasData: true, DataOf: "2"}, {Name: "b", HasData: true, DataOf: "1"}},
			"b a",
		},
		"exchanged with a host that does not answer": {
			[]membership.Member{{ID: "1", Host: "a"}, {ID: "2", Host: "b"}}, []membership.Host{{Name: "a", HasData: true, DataOf: "2"}, {Name: "b", Unreachable: "cut"}}, " a",
		},
		"of a copy": {
			[]membership.Member{{ID: "1", Host: "b"}}, []membership.Host{{Name: "a", HasData: true, DataOf: "1"}, {Name: "b", HasData: true, DataOf: "1"}}, "b",
		},
		"it answers": {
			[]membership.Member{{ID: "1", Host: "b", Healthy: true}}, []membership.Host{{Name: "a", HasData: true, DataOf: "1"}, {Name: "b", HasData: true}}, "b",
		},
		"of a replaced cluster": {
			[]membership.Member{{ID: "1"}}, []membership.Host{{Name: "a", HasData: true, DataOf: "1", Replaced: true}}, "",
		},
		"not known": {
			[]membership.Member{{ID: "1"}}, []membership.Host{{Name: "a", HasData: true}, {Name: "b", HasData: true, DataOf: "1", Unreachable: "not mounted"}}, "",
		},
		"not there any more": {
			[]membership.Member{{ID: "1", Host: "a"}}, []membership.Host{{Name: "a"}}, "a",
		},
	} {
		var got []string
		for _, m := range membership.PlaceByData(c.members, c.hosts) {
			got = append(got, m.Host)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestAdviceForVoterThatIsDown: a voter whose host answers and has its data is started, and not removed; for others, the advice names
// the host and the reason.
func TestAdviceForVoterThatIsDown(t *testing.T) {
	t.Parallel()
	s := rotating()
	s.CA = ""
	s.Members[2].Healthy = false
	if f := membership.Plan(s); f.Refusal == nil || !strings.HasSuffix(f.Refusal.Text, "host c answers and has its data: start etcd there, and read its journal if it does not start") {
		t.Error(f.Refusal)
	}
	s.Hosts[2].Unreachable = "no route"
	if f := membership.Plan(s); f.Refusal == nil || !strings.HasSuffix(f.Refusal.Text, "bring host c back (no route), start it, or if it is dead, use --remove-member c") {
		t.Error(f.Refusal)
	}
	s = rotating()
	s.CA = "old"
	s.Members[2].Healthy, s.Hosts[2].Running, s.Hosts[2].Certificates.Problem = false, false, "its peer certificate is damaged"
	f := membership.Plan(s)
	if f.Refusal == nil || strings.Contains(f.Refusal.Text, "--remove-member") || len(f.Steps) != 1 || f.Steps[0].Action != membership.Issue {
		t.Errorf("a repair and a removal: %+v %v", f.Steps, f.Refusal)
	}
}
