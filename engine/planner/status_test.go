package planner_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/planner"
)

const (
	oldOS = "0000000000000000000000000000000000000000000000000000000000000000"
	newOS = "1111111111111111111111111111111111111111111111111111111111111111"
)

// osModule stages and boots the desired OS, as far as a status shows it.
type osModule struct{}

func (m osModule) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	if f.Booted().Digest == d.OS.Digest() {
		return engine.Difference{}, nil
	}
	return engine.Difference{Steps: m.planSteps, Changes: []engine.Change{{Module: "os", Resource: "os", Before: "old", After: "new", Rule: "built-in", Actions: []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}}}}}, nil
}

func (osModule) planSteps(t engine.Target, _ []engine.Change) engine.Steps {
	s := engine.Steps{Reboot: []engine.Step{{Name: "wait for boot", On: t.Host.Name, Do: engine.Op{AwaitBoot: &engine.AwaitBoot{Digest: t.Desired.OS.Digest()}}}}}
	if !t.Facts.Ready(t.Desired.OS.Digest(), "") {
		s.Stage = []engine.Step{{Name: "stage", On: t.Host.Name}}
	}
	return s
}

// statusCase is a host whose desired OS is newOS.
type statusCase struct {
	differs, staged, rejected bool
	hostPaused, poolPaused    bool
	hold                      *engine.Hold
	dead                      []string // runs that are dead
	unreadable, unreachable   string
	clock, gathered           time.Time
	fake                      string // work of another module on the host
}

func (c statusCase) status() engine.Status {
	boots := func(digest string) engine.Deployment { return engine.Deployment{Digest: digest, Booted: true} }
	f := engine.Facts{Host: "w-1", Hold: c.hold, HoldProblem: c.unreadable, Unreachable: c.unreachable, Clock: c.clock, GatheredAt: c.gathered, Deployments: []engine.Deployment{boots(newOS)}}
	if c.differs {
		f.Deployments[0] = boots(oldOS)
	}
	if c.staged {
		f.Deployments = append(f.Deployments, engine.Deployment{Digest: newOS, Staged: true, Locked: true})
	}
	if c.rejected {
		f.Rejected = []string{newOS}
	}
	inv := engine.Inventory{
		Site:  "s",
		Pools: []engine.Pool{{Name: "w", Paused: c.poolPaused, OS: &engine.OS{Driver: "ostree", Commit: newOS}}},
		Hosts: []engine.Host{{Name: "w-1", Pool: "w", Paused: c.hostPaused}},
	}
	return planner.NewStatus(planner.Input{
		Request: planner.Request{Inventory: inv, Desired: inv.Desired(), RetryRejected: true, Dead: c.dead, Modules: []engine.Module{namedFake(osModule{}), namedFake(fakeModule{work: map[string]string{"w-1": c.fake}})}}, Facts: map[string]engine.Facts{"w-1": f}, Now: now, Bastion: thisBastion,
	})
}

// TestStateOfAHost checks each state, and which state is shown where several
// are true.
func TestStateOfAHost(t *testing.T) {
	run := &engine.Hold{Kind: engine.RunHold, Run: "r1", Bastion: thisBastion, Holder: "ann@b", Reason: "update"}
	nameless := &engine.Hold{Kind: engine.RunHold, Run: "r1", Holder: "ann@b", Reason: "update"}
	until := func(h engine.Hold, end time.Time) *engine.Hold {
		h.Expires = end
		return &h
	}
	failed := &engine.Hold{Kind: engine.RunHold, Holder: "ann@b", Step: "wait for boot", Reason: "did not come back"}
	maintenance := &engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@b", Reason: "fans"}
	for name, c := range map[string]struct {
		host statusCase
		want engine.HostState
		note string // part of the note
	}{
		"matches":                     {statusCase{}, engine.Updated, ""},
		"differs":                     {statusCase{differs: true}, engine.Pending, "os old → new"},
		"staged":                      {statusCase{differs: true, staged: true}, engine.Staged, "os old → new"},
		"paused":                      {statusCase{differs: true, hostPaused: true}, engine.PausedState, "the inventory pauses it; os old → new"},
		"in a paused pool":            {statusCase{differs: true, poolPaused: true}, engine.PausedState, "the inventory pauses pool w; os old → new"},
		"paused and staged":           {statusCase{differs: true, staged: true, poolPaused: true}, engine.PausedState, "the inventory pauses pool w"},
		"paused and matching":         {statusCase{hostPaused: true, poolPaused: true}, engine.Updated, ""},
		"paused and held":             {statusCase{differs: true, hostPaused: true, hold: maintenance}, engine.HeldState, "bob@b"},
		"paused and worked on":        {statusCase{differs: true, hostPaused: true, hold: run}, engine.Updating, "ann@b"},
		"worked on while others died": {statusCase{differs: true, hold: run, dead: []string{"r0"}}, engine.Updating, "held by ann@b"},
		"left by a dead run":          {statusCase{differs: true, hold: run, dead: []string{"r1"}}, engine.Updating, "its run has ended and left it; the next apply goes on from there: held by ann@b"},
		"left without its bastion":    {statusCase{differs: true, hold: nameless, dead: []string{"r1"}}, engine.Updating, "held by ann@b"},
		"held beyond its end":         {statusCase{differs: true, hold: until(*run, now.Add(-time.Hour)), clock: now, gathered: now}, engine.Updating, "its hold has expired, and the next apply adopts it: held by ann@b"},
		"held by a clock ahead":       {statusCase{differs: true, hold: until(*run, now.Add(time.Hour)), clock: now.Add(2 * time.Hour), gathered: now}, engine.Updating, "; the host's clock is 2h ahead of this bastion's, so that it does not count as expired; set the clocks right"},
		"maintenance beyond its end":  {statusCase{hold: until(*maintenance, now.Add(-time.Hour)), clock: now, gathered: now}, engine.HeldState, "; it has expired, and still stands: holdfast release w-1 ends it"},
		"paused and failed":           {statusCase{differs: true, poolPaused: true, hold: failed}, engine.Degraded, "failed at wait for boot: did not come back"},
		"paused and not understood":   {statusCase{hostPaused: true, fake: "unclear"}, engine.Degraded, "two deployments are booted"},
		"paused and gone":             {statusCase{differs: true, hostPaused: true, hold: maintenance, unreachable: "no route"}, engine.Unreached, "no route"},
		"paused and hold unreadable":  {statusCase{differs: true, hostPaused: true, unreadable: "it is not a hold"}, engine.HeldState, "it is not a hold"},
		"held and matching":           {statusCase{hold: maintenance}, engine.HeldState, "fans"},
		"rolled back":                 {statusCase{differs: true, rejected: true}, engine.Degraded, "rolled back from 111111111111; give it another OS, or apply --retry-rolled-back"},
		"rolled back, in maintenance": {statusCase{differs: true, rejected: true, hold: maintenance}, engine.HeldState, "fans"},
		"rolled back in a paused one": {statusCase{differs: true, rejected: true, poolPaused: true}, engine.Degraded, "rolled back"},
		"rejected once, but runs":     {statusCase{rejected: true}, engine.Updated, ""},
		"rejected once, other change": {statusCase{rejected: true, fake: "restart"}, engine.Pending, "os old → new"},
	} {
		s := c.host.status()
		got := s.Hosts[0]
		if got.State != c.want || !strings.Contains(got.Reason, c.note) || (c.note == "") != (got.Reason == "") {
			t.Errorf("%s: %s, %q; want %s, %q", name, got.State, got.Reason, c.want, c.note)
		}
		pool := s.Pools[0]
		if complete := c.want == engine.Updated; s.Complete != complete || pool.Complete != complete || pool.Counts[c.want] != 1 || pool.Total != 1 || pool.OS != newOS {
			t.Errorf("%s: complete %v, pool %+v", name, s.Complete, pool)
		}
		if !slices.Contains(engine.HostStates(), c.want) {
			t.Errorf("%s: no table shows %s", name, c.want)
		}
	}
}

// TestOSOfAPool checks that the OS of a pool is the desired OS of all its
// hosts, wherever the inventory names it.
func TestOSOfAPool(t *testing.T) {
	image := func(name string) engine.Desired {
		return engine.Desired{OS: &engine.OS{Driver: "bootc", Image: "quay.example/os@sha256:" + name}}
	}
	in := planner.Input{
		Request: planner.Request{Inventory: engine.Inventory{
			Pools: []engine.Pool{{Name: "z", OS: &engine.OS{Commit: newOS}}, {Name: "b"}, {Name: "a", OS: &engine.OS{Driver: "bootc"}}, {Name: "none"}},
			Hosts: []engine.Host{{Name: "a-1", Pool: "a"}, {Name: "a-2", Pool: "a"}, {Name: "b-1", Pool: "b"}, {Name: "b-2", Pool: "b"}},
		}, Desired: map[string]engine.Desired{"a-1": image("aa"), "a-2": image("aa"), "b-1": image("aa"), "b-2": image("bb")}},
	}
	var got []string
	for _, p := range planner.NewStatus(in).Pools {
		got = append(got, p.Name+" "+p.OS)
	}
	if want := []string{"z " + newOS, "b ", "a sha256:aa", "none "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
