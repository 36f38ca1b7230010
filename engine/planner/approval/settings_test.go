package approval

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
)

func count(n int) engine.CountOrPercent { return engine.CountOrPercent{Count: n, Set: true} }

// TestEachSettingIsCompared changes each setting of a pool, a cluster, a site and a play, one at a time. A saved plan must notice:
// the setting decides how the plan is carried out, and no change of a host shows it.
func TestEachSettingIsCompared(t *testing.T) {
	type world struct {
		inv    engine.Inventory
		play   engine.Play
		repair []string
	}
	pool := func(change func(*engine.Pool)) func(*world) { return func(w *world) { change(&w.inv.Pools[0]) } }
	play := func(change func(*engine.Play)) func(*world) { return func(w *world) { change(&w.play) } }
	gate := func(when engine.GateWhen) func(*world) {
		return pool(func(p *engine.Pool) {
			p.Gates = []engine.Gate{{Name: "g", Command: "true", When: []engine.GateWhen{when}}}
		})
	}
	settings := func(change func(*world)) map[string]string {
		w := world{
			inv: engine.Inventory{
				Pools:    []engine.Pool{{Name: "a"}, {Name: "b"}},
				Clusters: []engine.Cluster{{Name: "main"}},
			},
			play: engine.Play{Name: "tidy", Hosts: "all"},
		}
		if change != nil {
			change(&w)
		}
		return Settings(w.inv, &w.play, w.repair, []engine.HostPlan{{Host: "a-1", Pool: "a", Cluster: "main"}})
	}
	for key, change := range map[string]func(*world){
		"site: max_unavailable":          func(w *world) { w.inv.MaxUnavailable = count(3) },
		"--repair-member":                func(w *world) { w.repair = []string{"a-1"} },
		"cluster main: allow_outage":     func(w *world) { w.inv.Clusters[0].AllowOutage = true },
		"cluster main: snapshot":         func(w *world) { w.inv.Clusters[0].NoSnapshot = true },
		"pool a: after":                  pool(func(p *engine.Pool) { p.After = []string{"b"} }),
		"pool a: max_unavailable":        pool(func(p *engine.Pool) { p.MaxUnavailable = count(7) }),
		"pool a: failure_budget":         pool(func(p *engine.Pool) { p.FailureBudget = count(7) }),
		"pool a: order":                  pool(func(p *engine.Pool) { p.Order = "other" }),
		"pool a: version_command":        pool(func(p *engine.Pool) { p.VersionCommand = "echo 1" }),
		"pool a: os":                     pool(func(p *engine.Pool) { p.OS = &engine.OS{Remote: "other"} }),
		"pool a: on_failure":             pool(func(p *engine.Pool) { p.OnFailure = "other" }),
		"pool a: reboot: soft":           pool(func(p *engine.Pool) { p.Reboot.Soft = engine.AutoSoft }),
		"pool a: reboot: kexec":          pool(func(p *engine.Pool) { p.Reboot.Kexec = engine.AutoKexec }),
		"pool a: canary":                 pool(func(p *engine.Pool) { p.Canary = &engine.Canary{Hosts: count(1)} }),
		"pool a: max_skew":               pool(func(p *engine.Pool) { n := 0; p.MaxSkew = &n }),
		"pool a: window":                 pool(func(p *engine.Pool) { p.Windows = []engine.Window{{FromMinutes: 60, ToMinutes: 120}} }),
		"pool a: gate g":                 gate(engine.BeforeRun),
		"play tidy: hosts":               play(func(p *engine.Play) { p.Hosts = "a" }),
		"play tidy: any_errors_fatal":    play(func(p *engine.Play) { p.AnyErrorsFatal = true }),
		"play tidy: order":               play(func(p *engine.Play) { p.Order = "other" }),
		"play tidy: max_fail_percentage": play(func(p *engine.Play) { n := count(7); p.MaxFailPercentage = &n }),
		"play tidy: serial":              play(func(p *engine.Play) { p.Serial = []engine.CountOrPercent{count(7)} }),
		"play tidy: pre-task 1":          play(func(p *engine.Play) { p.PreTasks = []engine.Task{{Name: "x"}} }),
		"play tidy: task 1":              play(func(p *engine.Play) { p.Tasks = []engine.Task{{Name: "x"}} }),
		"play tidy: post-task 1":         play(func(p *engine.Play) { p.PostTasks = []engine.Task{{Name: "x"}} }),
	} {
		was, now := settings(nil), settings(change)
		if was[key] == now[key] {
			t.Errorf("%s: %q does not differ; the settings are %v", key, now[key], slices.Sorted(maps.Keys(now)))
		}
		if diffs := changedSettings(now, was); len(diffs) == 0 || !slices.ContainsFunc(diffs, func(d string) bool { return strings.HasPrefix(d, key+" is ") }) {
			t.Errorf("%s: %v", key, diffs)
		}
	}
	for _, when := range []engine.GateWhen{engine.BeforeBatch, engine.AfterBatch} {
		if settings(gate(when))["pool a: gate g"] == "" {
			t.Errorf("a gate %s is not compared", when)
		}
	}
	if settings(gate(engine.AfterHost))["pool a: gate g"] != "" {
		t.Error("a gate after each host is a step, and is compared twice")
	}
	if other := settings(func(w *world) { w.inv.Pools[1].MaxUnavailable = count(7) }); !maps.Equal(other, settings(nil)) {
		t.Errorf("a pool without work is compared: %v", other)
	}
	longer := pool(func(p *engine.Pool) {
		p.Windows, p.BatchTakes = []engine.Window{{FromMinutes: 60, ToMinutes: 120}}, engine.Duration(time.Hour)
	})
	if settings(longer)["pool a: batch_takes"] == settings(pool(func(p *engine.Pool) { p.Windows = []engine.Window{{FromMinutes: 60, ToMinutes: 120}} }))["pool a: batch_takes"] {
		t.Error("batch_takes is not compared")
	}
}

// TestNoSettings: without work and without a play, nothing is compared.
func TestNoSettings(t *testing.T) {
	if got := Settings(engine.Inventory{Pools: []engine.Pool{{Name: "a"}}}, nil, nil, nil); got != nil {
		t.Error(got)
	}
}

// TestNoFieldOfAPoolIsForgotten walks all fields of a pool and of its OS. A saved plan notices a change of each, or the table
// says what else shows it.
func TestNoFieldOfAPoolIsForgotten(t *testing.T) {
	shownElsewhere := map[string]string{
		"Pool.Name": "the work of its hosts", "Pool.Configs": "changes", "Pool.ConfigRoles": "changes", "Pool.Policy": "actions of the changes", "Pool.Drift": "changes",
		"Pool.OnActionFailure": "Exec.Fallback of the steps", "Pool.Paused": "excluded hosts", "Pool.Drain": "steps", "Pool.Timeouts": "timeouts of the steps",
		"Pool.BatchTakes": "TestEachSettingIsCompared, with a window", "Pool.Gates": "TestEachSettingIsCompared, by the time of the gate",
		"OS.Commit": "changes", "OS.Image": "changes",
	}
	settingsOf := func(p engine.Pool) map[string]string {
		p.Name = "a"
		return Settings(engine.Inventory{Pools: []engine.Pool{p}}, nil, nil, []engine.HostPlan{{Host: "a-1", Pool: "a"}})
	}
	check := func(name string, was, now engine.Pool) {
		t.Helper()
		noticed := !maps.Equal(settingsOf(was), settingsOf(now))
		if _, elsewhere := shownElsewhere[name]; noticed == elsewhere {
			t.Errorf("%s: a saved plan notices its change: %v; add it to the settings, or say here what shows it", name, noticed)
		}
	}
	for i := range reflect.TypeFor[engine.Pool]().NumField() {
		var now engine.Pool
		setOther(reflect.ValueOf(&now).Elem().Field(i))
		check("Pool."+reflect.TypeFor[engine.Pool]().Field(i).Name, engine.Pool{}, now)
	}
	for i := range reflect.TypeFor[engine.OS]().NumField() {
		var os engine.OS
		setOther(reflect.ValueOf(&os).Elem().Field(i))
		check("OS."+reflect.TypeFor[engine.OS]().Field(i).Name, engine.Pool{OS: &engine.OS{}}, engine.Pool{OS: &os})
	}
}

// TestNoFieldOfTheInventoryIsForgotten walks all fields of the types that decide which machines a plan reaches. A saved plan
// notices a change of each, or notCompared has the reason why it need not.
func TestNoFieldOfTheInventoryIsForgotten(t *testing.T) {
	elsewhere := []string{"Cluster.AllowOutage", "Cluster.NoSnapshot", "Inventory.MaxUnavailable", "Inventory.Mirror", "Host.SSH"}
	settingsOf := func(inv engine.Inventory) map[string]string {
		return Settings(inv, nil, nil, []engine.HostPlan{{Host: "a-1", Pool: "a", Cluster: "main"}})
	}
	walked := map[string]bool{}
	walk := func(typ reflect.Type, site func(v reflect.Value) engine.Inventory) {
		for i := range typ.NumField() {
			name := typ.Name() + "." + typ.Field(i).Name
			walked[name] = true
			now := reflect.New(typ).Elem()
			setOther(now.Field(i))
			noticed := !maps.Equal(settingsOf(site(reflect.Zero(typ))), settingsOf(site(now)))
			if _, out := notCompared[name]; noticed == out && !slices.Contains(elsewhere, name) {
				t.Errorf("%s: a saved plan notices its change: %v; notCompared has it: %v", name, noticed, out)
			}
		}
	}
	world := engine.Inventory{Pools: []engine.Pool{{Name: "a"}}, Hosts: []engine.Host{{Name: "a-1", Cluster: "main"}}, Clusters: []engine.Cluster{{Name: "main"}}}
	walk(reflect.TypeFor[engine.Inventory](), func(v reflect.Value) engine.Inventory {
		inv := v.Interface().(engine.Inventory)
		inv.Pools, inv.Hosts, inv.Clusters = world.Pools, world.Hosts, world.Clusters
		return inv
	})
	walk(reflect.TypeFor[engine.Mirror](), func(v reflect.Value) engine.Inventory {
		inv, m := world, v.Interface().(engine.Mirror)
		inv.Mirror = &m
		return inv
	})
	walk(reflect.TypeFor[engine.Cluster](), func(v reflect.Value) engine.Inventory {
		inv, c := world, v.Interface().(engine.Cluster)
		c.Name = "main"
		inv.Clusters = []engine.Cluster{c}
		return inv
	})
	for _, name := range []string{"a-1", "another member"} {
		host := func(h engine.Host) engine.Inventory {
			inv := world
			if h.Name = name; name == "a-1" {
				inv.Hosts = []engine.Host{h}
			} else {
				inv.Hosts = append(slices.Clone(inv.Hosts), h)
			}
			return inv
		}
		walk(reflect.TypeFor[engine.SSH](), func(v reflect.Value) engine.Inventory {
			return host(engine.Host{Cluster: "main", SSH: v.Interface().(engine.SSH)})
		})
		walk(reflect.TypeFor[engine.Host](), func(v reflect.Value) engine.Inventory {
			h := v.Interface().(engine.Host)
			if name != "a-1" && h.Cluster == "" {
				h.Cluster = "main"
			}
			return host(h)
		})
	}
	for name, why := range notCompared {
		if !walked[name] || why == "" {
			t.Errorf("notCompared[%q] = %q: no such field, or no reason", name, why)
		}
	}
}

// TestHostsThatAreDoneAreNotCompared: the settings of a host are in a plan only while it has work.
func TestHostsThatAreDoneAreNotCompared(t *testing.T) {
	inv := engine.Inventory{Hosts: []engine.Host{{Name: "a-1", Address: "a", Cluster: "main"}, {Name: "b-1", Address: "b"}}, Clusters: []engine.Cluster{{Name: "main"}}, Pools: []engine.Pool{{Name: "a"}, {Name: "b"}}}
	work := []engine.HostPlan{{Host: "a-1", Pool: "a", Cluster: "main"}, {Host: "b-1", Pool: "b"}}
	all, rest := Settings(inv, nil, nil, work), Settings(inv, nil, nil, work[1:])
	if diffs := changedSettings(rest, all); len(diffs) > 0 {
		t.Error(diffs)
	}
	inv.Hosts = append(inv.Hosts, engine.Host{Name: "a-2", Address: "c", Cluster: "main"})
	if diffs := changedSettings(Settings(inv, nil, nil, work), all); !slices.Equal(diffs, []string{"cluster main: members is a-1, a-2 now, and was a-1"}) {
		t.Error(diffs)
	}
}

// TestAHostElsewhereIsNotCompared: hosts without work that share no cluster with the work do not matter.
func TestAHostElsewhereIsNotCompared(t *testing.T) {
	inv := engine.Inventory{Hosts: []engine.Host{{Name: "a-1"}, {Name: "b-1", Address: "b"}}}
	work := []engine.HostPlan{{Host: "a-1", Pool: "a"}}
	was := Settings(inv, nil, nil, work)
	inv.Hosts[1].Address = "c"
	if now := Settings(inv, nil, nil, work); !maps.Equal(was, now) {
		t.Errorf("%v, and was %v", now, was)
	}
}

// setOther sets a field to a value that is not zero.
func setOther(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("other")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		if v.Index(0).Kind() == reflect.String {
			v.Index(0).SetString("other")
		}
	case reflect.Struct:
		for i := range v.NumField() {
			setOther(v.Field(i))
		}
	default:
		panic("setOther does not know " + v.Type().String())
	}
}
