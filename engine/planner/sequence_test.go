package planner_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/planner"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The golden files list the operations on a host in order. A change of these
// files changes the operations on somebody's machines.
func TestSequences(t *testing.T) {
	for name, s := range map[string]machine{
		"leader-os-change":        {name: "etcd-0", pool: "etcd", cluster: "main", work: "reboot"},
		"worker-os-change":        {name: "worker-0", pool: "worker", work: "reboot"},
		"member-restart":          {name: "etcd-0", pool: "etcd", cluster: "main", work: "restart"},
		"worker-file":             {name: "worker-0", pool: "worker", work: "quiet"},
		"recovering-member":       {name: "etcd-0", pool: "etcd", cluster: "main", hold: "dead"},
		"recovering-with-changes": {name: "worker-0", pool: "worker", hold: "expired", work: "reboot"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{
				pools:    []engine.Pool{fullPool("etcd"), {Name: "worker"}},
				clusters: map[string]*etcd{"main": {leader: "etcd-0", allowOutage: true}},
				hosts:    []*machine{&s},
			}
			checkGolden(t, filepath.Join("testdata", "sequence", name+".golden"), formatPlan(planner.NewPlan(w.input())))
		})
	}
}

// fullPool returns a pool with every setting.
func fullPool(name string) engine.Pool {
	return engine.Pool{
		Name:  name,
		Drain: &engine.Drain{Name: "vip", Command: "vip down", Undo: "vip up", Timeout: engine.Duration(2 * time.Minute)},
		Gates: []engine.Gate{
			{Name: "ceph", Command: "ceph health", When: []engine.GateWhen{engine.BeforeBatch, engine.BeforeHost, engine.AfterHost}},
			{Name: "soak", Command: "check-site", When: []engine.GateWhen{engine.AfterBatch}, Timeout: engine.Duration(time.Hour)},
		},
		Timeouts: engine.Timeouts{Health: engine.Duration(15 * time.Minute)},
	}
}

func checkGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -run %s -update writes it", err, t.Name())
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func formatPlan(p engine.Plan) string {
	var b strings.Builder
	section := func(title string, steps []engine.Step) {
		if len(steps) == 0 {
			return
		}
		fmt.Fprintf(&b, "%s\n", title)
		for _, s := range steps {
			fmt.Fprintf(&b, "  %-17s on %-8s within %-7s %s\n", s.Name, s.On, s.Timeout, describeOperation(s))
		}
	}
	section("before the first disruption", p.Before)
	for _, l := range p.Lanes {
		for _, h := range l.Hosts {
			section("stage "+h, p.Host(h).Stage)
		}
	}
	for _, batch := range p.Batches {
		section("before the batch", batch.Before)
		for _, h := range batch.Hosts {
			section("roll "+h, p.Host(h).Sequence)
		}
		section("after the batch", batch.After)
	}
	return b.String()
}

// describeOperation returns the operation of a step and its kind, for golden
// files.
func describeOperation(s engine.Step) string {
	var words []string
	switch do := s.Do; {
	case do.Exec != nil:
		words = append(words, "exec "+do.Exec.Script.String())
	case do.Command != nil:
		words = append(words, "command "+do.Command.Command)
		if s.Undo != nil {
			words = append(words, "(undo: "+s.UndoText()+")")
		}
	case do.Gate != nil:
		words = append(words, "gate "+do.Gate.Command)
	case do.TakeHold != nil:
		words = append(words, fmt.Sprintf("hold for %s: %s", do.TakeHold.For, do.TakeHold.Reason))
		if do.TakeHold.Adopt != "" {
			words = append(words, "(adopts "+do.TakeHold.Adopt+")")
		}
	case do.AwaitUnits != nil:
		words = append(words, fmt.Sprintf("await units %v", do.AwaitUnits.RunningUnits))
	case do.Release != nil:
		words = append(words, "release")
	case do.Quorum != nil:
		words = append(words, "quorum of "+do.Quorum.Cluster)
	case do.MoveLeader != nil:
		words = append(words, "move leader of "+do.MoveLeader.Cluster)
	case do.Snapshot != nil:
		words = append(words, "snapshot of "+do.Snapshot.Cluster)
	case do.AwaitEtcd != nil:
		words = append(words, "await member of "+do.AwaitEtcd.Cluster)
	}
	if s.ChangesHost {
		words = append(words, "[changes host]")
	}
	return strings.Join(words, " ")
}

// These rules hold for every sequence: the hold comes first and lasts as long
// as all following steps may take, the release comes last, and no step between
// the last quorum check and a reboot takes long.
func TestSequenceLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyFleet(t)
		for i := range w.pools {
			full := fullPool(w.pools[i].Name)
			full.After, full.MaxUnavailable = w.pools[i].After, w.pools[i].MaxUnavailable
			w.pools[i] = full
		}
		for _, hp := range planner.NewPlan(w.input()).Hosts {
			sequenceLaws(t, w.machine(hp.Host), hp.Sequence)
		}
	})
}

func sequenceLaws(t *rapid.T, m *machine, roll []engine.Step) {
	var names []string
	var total engine.Duration
	for _, s := range roll {
		names = append(names, s.Name)
		total += s.Timeout
		if s.On != m.name || s.Timeout <= 0 {
			t.Fatalf("step %+v of %s", s, m.name)
		}
	}
	at := func(name string) int { return slices.Index(names, name) }
	count := func(name string) int {
		return len(names) - len(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name }))
	}
	before := func(a, b string) {
		if at(a) >= 0 && at(b) >= 0 && at(a) > at(b) {
			t.Fatalf("%s after %s: %v", a, b, names)
		}
	}
	if names[0] != "hold" || names[len(names)-1] != "release" || count("hold") != 1 || count("release") != 1 {
		t.Fatalf("not within one hold: %v", names)
	}
	if roll[0].Do.TakeHold.For < total {
		t.Fatalf("a hold for %s, and steps for %s", roll[0].Do.TakeHold.For, total)
	}
	reboots, voter := m.work == "reboot", m.cluster != ""
	for name, want := range map[string]bool{
		"reboot": reboots, "drain": reboots, "undrain": reboots || m.leftOver(),
		"move etcd leader": m.disrupts() && voter, "check quorum": m.disrupts() && voter, "wait for etcd": voter,
		"write": m.work == "restart" || m.work == "quiet", "wait for units": true,
	} {
		if (at(name) >= 0) != want {
			t.Fatalf("%s in the sequence of %+v: %v", name, *m, names)
		}
	}
	if reboots && voter && (names[at("reboot")-1] != "check quorum" || names[at("reboot")-2] != "move etcd leader" || names[at("reboot")-3] != "sync disks") {
		t.Fatalf("the reboot does not follow the last look at the quorum: %v", names)
	}
	for _, pair := range [][2]string{{"check quorum", "drain"}, {"check quorum", "write"}, {"drain", "reboot"}, {"reboot", "wait for units"}, {"write", "wait for units"}, {"wait for units", "undrain"}, {"wait for etcd", "undrain"}} {
		before(pair[0], pair[1])
	}
	if gates := count("gate ceph"); m.disrupts() && gates != 2 || !m.disrupts() && gates != 1 {
		t.Fatalf("%d gates: %v", gates, names)
	}
}

// The actions of a host are the actions of its changes, each once and in order.
// Only an action that the reboot includes may be missing.
func TestActionsMerge(t *testing.T) {
	kinds := []engine.ActionType{engine.NoAction, engine.DrainAction, engine.ReloadDaemon, engine.ReloadUnit, engine.RestartUnit, engine.RebootAction}
	rapid.Check(t, func(t *rapid.T) {
		var m actionModule
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			var c engine.Change
			for range rapid.IntRange(0, 4).Draw(t, "actions") {
				k := rapid.SampledFrom(kinds).Draw(t, "kind")
				a := engine.Action{Type: k}
				if k == engine.ReloadUnit || k == engine.RestartUnit {
					a.Unit = rapid.SampledFrom([]string{"crio", "kubelet"}).Draw(t, "unit")
				}
				c.Actions = append(c.Actions, a)
			}
			m.changes = append(m.changes, c)
		}
		w := &world{pools: []engine.Pool{{Name: "worker"}}, hosts: []*machine{worker(0)}}
		in := w.input()
		in.Modules = []engine.Module{namedFake(m)}
		got := planner.NewPlan(in).Hosts[0].Actions
		reboot := slices.ContainsFunc(got, func(a engine.Action) bool { return a.Type == engine.RebootAction })
		for _, c := range m.changes {
			for _, a := range c.Actions {
				gone := !slices.Contains(got, a)
				if gone && a.Type != engine.NoAction && (!reboot || a.Type == engine.DrainAction || a.Type == engine.RebootAction) {
					t.Fatalf("%v disappeared from %v", a, got)
				}
			}
		}
		for i, a := range got {
			if slices.Contains(got[:i], a) || i > 0 && slices.Index(kinds, got[i-1].Type) > slices.Index(kinds, a.Type) {
				t.Fatalf("%v is twice there or out of order", got)
			}
			if a.Type == engine.NoAction && len(got) > 1 {
				t.Fatalf("%v says that nothing is to be done", got)
			}
		}
	})
}

// actionModule finds the same changes on every host.
type actionModule struct{ changes []engine.Change }

func (m actionModule) Diff(engine.Desired, engine.Facts) (engine.Difference, error) {
	noSteps := func(engine.Target, []engine.Change) engine.Steps { return engine.Steps{} }
	return engine.Difference{Changes: m.changes, Steps: noSteps}, nil
}

func TestTimeoutDefaults(t *testing.T) {
	minutes := func(n int) engine.Duration { return engine.Duration(time.Duration(n) * time.Minute) }
	if got, want := (engine.Timeouts{}).WithDefaults(), (engine.Timeouts{Stage: minutes(30), Reboot: minutes(20), Health: minutes(10)}); got != want {
		t.Errorf("%+v", got)
	}
	set := engine.Timeouts{Stage: 1, Reboot: 2, Health: 3}
	if got := set.WithDefaults(); got != set {
		t.Errorf("%+v", got)
	}
}
