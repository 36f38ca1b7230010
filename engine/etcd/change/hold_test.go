package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/event"
	"holdfast/engine/hold"
	"holdfast/engine/hostscript"
)

const theirHold = "{\n\"schema\":1,\n\"kind\":\"run\",\n\"holder\":\"bob@bastion-2\",\n\"run\":\"r2\",\n\"bastion\":\"b2\",\n\"reason\":\"os update\"\n}\n"

// fakeHosts answers the hold scripts of all hosts, and counts scripts that check or take a hold or create a cluster.
type fakeHosts struct {
	check   engine.Output // answer of a check of the hold
	take    engine.Output // answer to taking the hold
	checked int
	taken   int
	started int
	data    []string // hosts with data of etcd
	noted   string   // script that notes replaced clusters
}

func (f *fakeHosts) Run(_ context.Context, h engine.Host, script Script) (engine.Output, error) {
	switch script.Purpose {
	case ProbeHost:
		if slices.Contains(f.data, h.Name) {
			return engine.Output{Stdout: "data\n"}, nil
		}
	case Purpose(hold.CheckScript):
		if script.Text != hostscript.CheckHoldScript(testOwner) {
			return engine.Output{Code: hostscript.ScriptHeld}, nil
		}
		f.checked++
		return f.check, nil
	case Purpose(hold.ReadScript):
		return engine.Output{Code: hostscript.NoHold}, nil
	case NoteReplaced:
		f.noted = script.Text
	case Purpose(hold.TakeScript):
		f.taken++
		return f.take, nil
	case StartEtcd:
		if strings.Contains(script.Text, "ETCD_INITIAL_CLUSTER_STATE=new") {
			f.started++
		}
	default: // done
	}
	return engine.Output{}, nil
}

// fakeEtcd is a cluster without members or with some, that counts changes, and refuses the first ones for now.
type fakeEtcd struct {
	Etcd
	changes, refuse int
	version         string
	members         []membership.Member
	old             []membership.Member // of another cluster: the answer if the host of the first of members is not asked
}

func (f *fakeEtcd) Members(_ context.Context, without ...string) etcd.MemberList {
	if len(f.members) > 0 && slices.Contains(without, f.members[0].Host) {
		return etcd.MemberList{Members: f.old}
	}
	return etcd.MemberList{Members: f.members, Version: f.version}
}

func (f *fakeEtcd) change() error {
	if f.changes++; f.changes <= f.refuse {
		return errPassing
	}
	return nil
}

var errPassing = context.DeadlineExceeded

func (f *fakeEtcd) Promote(context.Context, string) error      { return f.change() }
func (f *fakeEtcd) RemoveMember(context.Context, string) error { return f.change() }

func (f *fakeEtcd) MoveLeader(context.Context, string) (string, error) { return "b", f.change() }

func newFakeRun(hosts *fakeHosts, cluster *fakeEtcd) *Run {
	r := &Run{
		Cluster: engine.Cluster{Name: "main", Managed: &engine.ManagedMembers{DataDir: "/var/lib/etcd/default", Unit: "etcd.service"}},
		Members: []engine.Host{{Name: "a"}, {Name: "b"}}, Owner: testOwner, Hosts: hosts, Etcd: cluster,
	}
	r.Prepare()
	return r
}

// TestStepsOfEtcdNeedTheHold: a step that etcd does, and no script on the host, is not done if the run has lost its hold, although
// it took it a moment ago. The failure names the holder.
func TestStepsOfEtcdNeedTheHold(t *testing.T) {
	t.Parallel()
	for _, action := range []membership.MemberAction{membership.Promote, membership.MoveLeader, membership.Remove} {
		hosts, cluster := &fakeHosts{check: engine.Output{Code: hostscript.ScriptHeld, Stdout: theirHold, Stderr: "hold: the host is not held by this run; nothing was done\n"}}, &fakeEtcd{}
		r := newFakeRun(hosts, cluster)
		step := membership.MemberStep{Action: action, Host: "a", Member: "1"}
		if err := r.holdHost(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		_, err := r.carryOut(t.Context(), step)
		var f *engine.Failure
		if !errors.As(err, &f) || f.Kind != engine.HeldFailure || !strings.Contains(f.Cause, "held by bob@bastion-2") {
			t.Errorf("%s: %v", action, err)
		}
		if cluster.changes > 0 {
			t.Errorf("%s: etcd was changed", action)
		}
		hosts.check = engine.Output{}
		if _, err := r.carryOut(t.Context(), step); err != nil || cluster.changes != 1 || hosts.checked != 2 {
			t.Errorf("%s under the hold: %d changes, %d checks, %v", action, cluster.changes, hosts.checked, err)
		}
	}
}

// TestFirstStepUnderAHoldLooksAgain: another run may have created the cluster after this run last looked, and before it took the hold.
func TestFirstStepUnderAHoldLooksAgain(t *testing.T) {
	t.Parallel()
	step := membership.MemberStep{Action: membership.Create, Host: "a"}
	for name, c := range map[string]struct {
		members []membership.Member
		started int
	}{
		"still nothing": {nil, 1},
		"a new cluster": {[]membership.Member{{ID: "1", Name: "b", Host: "b", Healthy: true, Leader: true}}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			hosts := &fakeHosts{}
			r := newFakeRun(hosts, &fakeEtcd{members: c.members})
			r.checked["a"] = "a fast disk"
			message, err := r.carryOut(t.Context(), step)
			if hosts.started != c.started {
				t.Errorf("%s: %d clusters were created: %q, %v", name, hosts.started, message, err)
			}
			if c.started == 0 && (err != nil || !strings.Contains(message, "nothing was done")) {
				t.Errorf("%s: %q, %v", name, message, err)
			}
		})
	}
}

// hookedHosts calls before ahead of each script. If it returns an error, the host does not answer.
type hookedHosts struct {
	Hosts
	before func(host engine.Host, script Script) error
}

func (h hookedHosts) Run(ctx context.Context, host engine.Host, script Script) (engine.Output, error) {
	if err := h.before(host, script); err != nil {
		return engine.Output{}, err
	}
	return h.Hosts.Run(ctx, host, script)
}

// TestStepsLookAgainAtOldFacts: the run is delayed between its facts and a step whose hold it has, and the cluster changes meanwhile.
func TestStepsLookAgainAtOldFacts(t *testing.T) {
	t.Parallel()
	changed := []membership.Member{{ID: "1", Name: "b", Host: "b", Healthy: true, Leader: true}}
	for name, c := range map[string]struct {
		delay   time.Duration
		members []membership.Member
		started int
	}{
		"in time":               {10 * time.Second, changed, 1},
		"late, and still right": {40 * time.Second, nil, 1},
		"late":                  {40 * time.Second, changed, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			hosts, cluster := &fakeHosts{}, &fakeEtcd{}
			r := newFakeRun(hosts, cluster)
			r.checked["a"] = "a fast disk"
			if err := r.holdHost(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Observe(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.Hosts = hookedHosts{hosts, func(h engine.Host, s Script) error {
				if s.Purpose == Purpose(hold.ReadScript) && h.Name == "b" {
					time.Sleep(c.delay)
					cluster.members = c.members
				}
				return nil
			}}
			message, err := r.carryOut(t.Context(), membership.MemberStep{Action: membership.Create, Host: "a"})
			if hosts.started != c.started || c.started == 0 && (err != nil || !strings.Contains(message, "nothing was done")) {
				t.Errorf("%s: %d clusters were created: %q, %v", name, hosts.started, message, err)
			}
		})
	}
}

// TestNoRestartOnOldFacts: no etcd is restarted if new facts are old, too, because they were gathered slowly. Steps that etcd checks itself
// are done.
func TestNoRestartOnOldFacts(t *testing.T) {
	t.Parallel()
	for action, late := range map[membership.MemberAction]bool{membership.Configure: true, membership.TrustCA: true, membership.DropCA: true, membership.AddLearner: false} {
		synctest.Test(t, func(t *testing.T) {
			r := newFakeRun(&fakeHosts{}, &fakeEtcd{})
			next, err := r.takeHoldIf(t.Context(), membership.MemberStep{Action: action, Host: "a"}, func() (bool, error) {
				time.Sleep(maxFactsAge + time.Second)
				return true, nil
			})
			if f := new(engine.Failure); late && (!errors.As(err, &f) || f.Kind != engine.UnsafeFailure) || !late && (err != nil || !next) {
				t.Errorf("%s: %v, %v", action, next, err)
			}
		})
	}
}

// TestRestartBesideASlowHost: etcd is restarted although a host or etcd answers slowly each time, but not if the process was stopped while
// it asked etcd.
func TestRestartBesideASlowHost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host, etcd time.Duration
		late       bool
	}{
		"a slow host": {host: maxFactsAge + time.Second},
		"slow etcd":   {etcd: maxFactsAge + time.Second},
		"both":        {host: scriptTime, etcd: maxFactsAge + time.Second},
		"stopped":     {etcd: scriptTime + maxFactsAge + time.Second, late: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			hosts := &fakeHosts{}
			r := newFakeRun(hosts, &fakeEtcd{})
			r.Etcd = slowEtcd{&fakeEtcd{}, c.etcd}
			r.Hosts = hookedHosts{hosts, func(h engine.Host, s Script) error {
				if s.Purpose == ProbeHost && h.Name == "b" {
					time.Sleep(c.host)
				}
				return nil
			}}
			next, err := r.takeHoldIf(t.Context(), membership.MemberStep{Action: membership.Configure, Host: "a"}, func() (bool, error) {
				_, err := r.Observe(t.Context())
				return true, err
			})
			if !next || (err != nil) != c.late {
				t.Errorf("%s: %v, %v", name, next, err)
			}
		})
	}
}

// slowEtcd takes its time to list the members.
type slowEtcd struct {
	Etcd
	delay time.Duration
}

func (e slowEtcd) Members(ctx context.Context, without ...string) etcd.MemberList {
	time.Sleep(e.delay)
	return e.Etcd.Members(ctx, without...)
}

// TestHoldTakenAnewLooksAgain: the run has lost its hold, and takes it anew. Another run may have changed the cluster meanwhile.
func TestHoldTakenAnewLooksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hosts, cluster := &fakeHosts{}, &fakeEtcd{}
		r := newFakeRun(hosts, cluster)
		r.checked["a"] = "a fast disk"
		if err := r.holdHost(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(renewTime)
		if _, err := r.Observe(t.Context()); err != nil {
			t.Fatal(err)
		}
		cluster.members = []membership.Member{{ID: "1", Name: "b", Host: "b", Healthy: true, Leader: true}}
		message, err := r.carryOut(t.Context(), membership.MemberStep{Action: membership.Create, Host: "a"})
		if hosts.taken != 2 || hosts.started != 0 || err != nil || !strings.Contains(message, "nothing was done") {
			t.Errorf("%d holds, %d clusters were created: %q, %v", hosts.taken, hosts.started, message, err)
		}
	})
}

// TestHoldWhoseAnswerIsLost: the hold may be there after the answers to taking it are lost, or the operator stops the run meanwhile. The
// run ends it. A run that is refused the hold, because somebody else holds the host, releases nothing.
func TestHoldWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lost, takes, releases int
		stops                 bool
		busy                  bool // another script has the lock whenever the answer is not lost
		held                  bool // the run has the hold, and renews it
	}{
		"one answer":        {lost: 1, takes: 2, releases: 1},
		"all answers":       {lost: 9, takes: 2, releases: 1},
		"stopped":           {lost: 9, takes: 1, releases: 1, stops: true},
		"lost, then busy":   {lost: 1, takes: 2, releases: 1, busy: true},
		"busy":              {takes: 1, releases: 0, busy: true},
		"a renewal is busy": {takes: 1, releases: 1, busy: true, held: true},
	} {
		hosts := &fakeHosts{}
		r := newFakeRun(hosts, &fakeEtcd{})
		if c.busy {
			hosts.take.Code = hostscript.ScriptBusy
		}
		if c.held {
			r.held["a"] = time.Now().Add(-time.Hour)
		}
		ctx, stop := context.WithCancel(t.Context())
		takes, releases := 0, 0
		r.Hosts = hookedHosts{hosts, func(_ engine.Host, s Script) error {
			switch s.Purpose {
			case Purpose(hold.TakeScript):
				if c.stops {
					stop()
				}
				if takes++; takes <= c.lost {
					return errors.New("connection lost")
				}
			case Purpose(hold.ReleaseScript):
				releases++
			}
			return nil
		}}
		err := r.holdHost(ctx, "a")
		if (err == nil) != (c.lost < c.takes && !c.busy) {
			t.Errorf("%s: %v", name, err)
		}
		if err := r.releaseAll(context.WithoutCancel(ctx)); err != nil || takes != c.takes || releases != c.releases {
			t.Errorf("%s: %d takes, %d releases, %v", name, takes, releases, err)
		}
		stop()
	}
	refused := newFakeRun(&fakeHosts{}, &fakeEtcd{})
	refused.Hosts = refusingHosts{}
	err := refused.holdHost(t.Context(), "a")
	if f := new(engine.Failure); !errors.As(err, &f) || f.Kind != engine.HeldFailure || len(refused.held) > 0 {
		t.Errorf("%v, held %v", err, refused.held)
	}
}

// TestHoldFromTheFuture: a hold that was taken before the clock of the bastion was set back is renewed.
func TestHoldFromTheFuture(t *testing.T) {
	t.Parallel()
	hosts := &fakeHosts{}
	r := newFakeRun(hosts, &fakeEtcd{})
	r.held["a"] = time.Now().Round(0).Add(time.Hour)
	if err := r.holdHost(t.Context(), "a"); err != nil || hosts.taken != 1 {
		t.Errorf("%d times taken, %v", hosts.taken, err)
	}
}

// refusingHosts get the hold of somebody else between the read of the hold and its script.
type refusingHosts struct{}

func (refusingHosts) Run(_ context.Context, _ engine.Host, script Script) (engine.Output, error) {
	if script.Purpose == Purpose(hold.ReadScript) {
		return engine.Output{Code: hostscript.NoHold}, nil
	}
	return engine.Output{Code: hostscript.ScriptHeld, Stdout: theirHold}, nil
}

// TestWaitsRenewTheHold: a run that waits for a new cluster keeps its hold young, so that nobody takes it for a dead one.
func TestWaitsRenewTheHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hosts := &fakeHosts{}
		r := newFakeRun(hosts, &fakeEtcd{})
		if err := r.holdHost(t.Context(), "a"); err != nil || hosts.taken != 1 {
			t.Fatal(hosts.taken, err)
		}
		began := time.Now()
		var f *engine.Failure
		if err := (actions{r}).createCluster(t.Context(), "a"); !errors.As(err, &f) || !strings.Contains(f.Cause, "not healthy after 2m") {
			t.Error(err)
		}
		if took := time.Since(began); took < createTime || took > createTime+2*waitTime {
			t.Errorf("it waited for %s", took)
		}
		if hosts.taken != 2 {
			t.Errorf("the hold was taken %d times", hosts.taken)
		}
	})
}

// TestRefusedChangeIsRepeated: a change that etcd refuses for now is repeated each second, and for no longer than a minute.
func TestRefusedChangeIsRepeated(t *testing.T) {
	t.Parallel()
	for refuse, want := range map[int]error{0: nil, 5: nil, 1000: errPassing} {
		synctest.Test(t, func(t *testing.T) {
			cluster := &fakeEtcd{refuse: refuse}
			r := newFakeRun(&fakeHosts{}, cluster)
			began := time.Now()
			err := actions{r}.retryRefused(t.Context(), "a", cluster.change)
			if took := time.Since(began); !errors.Is(err, want) || took != time.Duration(cluster.changes-1)*waitTime || took > settleTime+waitTime {
				t.Errorf("refused %d times: %d changes in %s, %v", refuse, cluster.changes, took, err)
			}
		})
	}
}

// TestLostHoldEndsTheWait: a wait ends once somebody else holds the host.
func TestLostHoldEndsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newFakeRun(&fakeHosts{}, &fakeEtcd{})
		lost := errors.New("lost")
		if err := r.holdHost(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		r.Hosts = failingHosts{lost}
		began := time.Now()
		_, err := r.waitUnderHold(t.Context(), "a", time.Hour, func() (bool, error) { return false, nil })
		if err == nil || !strings.Contains(err.Error(), "lost") || time.Since(began) != renewTime {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if len(r.held) != 1 {
			t.Error("the hold is not released in the end")
		}
	})
}

type failingHosts struct{ err error }

func (f failingHosts) Run(context.Context, engine.Host, Script) (engine.Output, error) {
	return engine.Output{}, f.err
}

// heldHosts answers as hosts of which some are held, and counts which holds are adopted.
type heldHosts struct {
	holds   map[string]string
	adopted []string
}

func (h *heldHosts) Run(_ context.Context, host engine.Host, script Script) (engine.Output, error) {
	switch {
	case script.Purpose == Purpose(hold.ReadScript) && h.holds[host.Name] == "":
		return engine.Output{Code: hostscript.NoHold}, nil
	case script.Purpose == Purpose(hold.ReadScript):
		return engine.Output{Stdout: fmt.Sprintf("clock %d\n%s", time.Now().Unix(), h.holds[host.Name])}, nil
	case script.Purpose == Purpose(hold.TakeScript):
		h.adopted = append(h.adopted, host.Name)
	}
	return engine.Output{}, nil
}

// TestExpiredHolds: a hold that has expired is in nobody's way if a run took it that changed the members of this cluster: it
// disrupted nothing. That of a roll-out is: its host needs the recovery of a roll-out.
func TestExpiredHolds(t *testing.T) {
	t.Parallel()
	const times = `"acquired":"2020-01-01T00:00:00Z","renewed":"2020-01-01T00:00:00Z","expires":"2020-01-01T00:20:00Z"}`
	const start = `{"schema":1,"kind":"run","holder":"bob@bastion-2","run":"r2","bastion":"b2","reason":"a reason",`
	rollOut, ours, other := start+times, start+`"cluster":"main",`+times, start+`"cluster":"other",`+times
	for name, c := range map[string]struct {
		own, of string
		fine    bool
	}{
		"of a change, on the host that changes": {ours, "", true},
		"of a change, on another":               {"", ours, true},
		"of a roll-out, on the host":            {rollOut, "", false},
		"of a roll-out, on another":             {"", rollOut, false},
		"of another cluster, on the host":       {other, "", false},
		"of another cluster, on another":        {"", other, false},
	} {
		hosts := &heldHosts{holds: map[string]string{"a": c.own, "b": c.of}}
		r := newFakeRun(&fakeHosts{}, &fakeEtcd{})
		r.Hosts = hosts
		err := r.takeHold(t.Context(), membership.MemberStep{Action: membership.AddLearner, Host: "a"})
		var f *engine.Failure
		switch {
		case c.fine && (err != nil || !slices.Equal(hosts.adopted, []string{"a"})):
			t.Errorf("%s: %v, %v", name, hosts.adopted, err)
		case !c.fine && (!errors.As(err, &f) || f.Kind != engine.HeldFailure || !strings.Contains(f.Cause, "held by bob@bastion-2") || !strings.HasPrefix(f.Hint, "if nobody works there any more: holdfast release --force ")):
			t.Errorf("%s: %v", name, err)
		case !c.fine && slices.Contains(hosts.adopted, "b"), c.own != "" && !c.fine && len(hosts.adopted) > 0:
			t.Errorf("%s: the hold is adopted", name)
		}
		if !c.fine {
			continue
		}
		hosts.adopted = nil
		if err := r.releaseLeftovers(t.Context()); err != nil || c.of != "" && !slices.Equal(hosts.adopted, []string{"b"}) {
			t.Errorf("%s: at the end %v, %v", name, hosts.adopted, err)
		}
	}
}

// TestStepsNameTheirMember: a member whose host is not in the inventory has only its ID.
func TestStepsNameTheirMember(t *testing.T) {
	t.Parallel()
	r := newFakeRun(&fakeHosts{}, &fakeEtcd{})
	var members []string
	r.Emit = func(e event.Event) error { members = append(members, string(e.Type)+" "+e.Member); return nil }
	if err := r.doStep(t.Context(), membership.MemberStep{Action: membership.Remove, Member: "9a"}); err != nil {
		t.Error(err)
	}
	if got := strings.Join(members, ", "); got != "step-started 9a, step-ended 9a" {
		t.Error(got)
	}
}

// TestPlanNamesHolds: a plan of the members names the holds at which apply would stop.
func TestPlanNamesHolds(t *testing.T) {
	t.Parallel()
	r := newFakeRun(&fakeHosts{}, &fakeEtcd{})
	hosts := &restoringHosts{foreign: true, onHold: func() {}}
	r.Hosts = hosts
	warnings := func(steps int) []string {
		f := membership.Forecast{Steps: make([]membership.PlannedStep, steps)}
		r.WarnOfHolds(t.Context(), &f)
		return f.Warnings
	}
	if list := warnings(1); len(list) != 1 || !strings.Contains(list[0], "holdfast etcd members apply stops: b: ") {
		t.Errorf("%q", list)
	}
	if list := warnings(0); len(list) != 0 {
		t.Errorf("without steps: %q", list)
	}
	hosts.foreign = false
	if list := warnings(1); len(list) != 0 {
		t.Errorf("without holds: %q", list)
	}
}

// TestCreateEndsAbsences: a host was absent during a restore, and the cluster is made anew later. The data of the new cluster do not count as
// replaced on that host.
func TestCreateEndsAbsences(t *testing.T) {
	t.Parallel()
	hosts := &fakeHosts{}
	r := newFakeRun(hosts, &fakeEtcd{members: []membership.Member{{ID: "1", Name: "a", Host: "a", Healthy: true}}})
	r.replaced.addLine("host a y")
	if !r.replaced.hasData("a", "z") {
		t.Error("the restore has not ended")
	}
	if err := (actions{r}).createCluster(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	var after replacedClusters
	_, noted, _ := strings.Cut(hosts.noted, "newreplaced='")
	noted, _, _ = strings.Cut(noted, "'")
	for line := range strings.Lines(noted) {
		after.addLine(line)
	}
	if after.hasData("a", "z") || !after.hasData("a", "y") {
		t.Errorf("%+v: %q", after, noted)
	}
}
