package forecast_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/forecast"
	"holdfast/engine/window"
)

const minute = engine.Duration(time.Minute)

var now = time.Date(2026, 11, 27, 22, 0, 0, 0, time.UTC)

// site is a plan of two pools with the times of earlier runs.
func drawInput(t *rapid.T) forecast.Input {
	in := forecast.Input{Now: now, Forks: rapid.IntRange(1, 3).Draw(t, "forks"), Earlier: engine.EarlierTimes{Hosts: map[string][]engine.HostTimes{}}}
	for _, name := range []string{"etcd", "worker"} {
		p := engine.Pool{Name: name, BatchTakes: 10 * minute}
		if rapid.Bool().Draw(t, "window") {
			p.Windows = []engine.Window{{FromMinutes: 21 * 60, ToMinutes: 23 * 60}}
		}
		in.Pools = append(in.Pools, p)
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "hosts") {
		hp := engine.HostPlan{Host: fmt.Sprintf("h-%d", i), Pool: rapid.SampledFrom([]string{"etcd", "worker"}).Draw(t, "pool")}
		if rapid.Bool().Draw(t, "reboots") {
			hp.Reboot = &engine.Reboot{Kind: rapid.SampledFrom([]engine.RebootKind{engine.SoftReboot, engine.FullReboot}).Draw(t, "kind")}
			hp.Stage = []engine.Step{{Name: "stage"}}
			hp.Actions = []engine.Action{{Type: engine.RebootAction}}
		}
		in.Plan.Hosts = append(in.Plan.Hosts, hp)
		in.Plan.Lanes = append(in.Plan.Lanes, engine.Lane{Hosts: []string{hp.Host}})
		in.Plan.Batches = append(in.Plan.Batches, engine.Batch{Hosts: []string{hp.Host}, Pools: []string{hp.Pool}, Soak: engine.Duration(rapid.IntRange(0, 10).Draw(t, "soak")) * minute})
		for range rapid.IntRange(0, 7).Draw(t, "runs") {
			in.Earlier.Hosts[hp.Host] = append(in.Earlier.Hosts[hp.Host], engine.HostTimes{
				Host: hp.Host, Staging: drawTime(t), Batch: drawTime(t),
				Reboot: rapid.SampledFrom([]engine.RebootKind{"", engine.SoftReboot, engine.FullReboot}).Draw(t, "rebooted"),
			})
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "gaps") {
		in.Earlier.Gaps = append(in.Earlier.Gaps, drawTime(t))
	}
	return in
}

func drawTime(t *rapid.T) engine.Duration {
	return engine.Duration(rapid.IntRange(1, 40).Draw(t, "minutes")) * minute
}

// TestReplannedWorkIsUnknown: nobody knows how long the work of a host takes that only restarts services first, so neither the
// forecast of its plan nor that of later plays is known.
func TestReplannedWorkIsUnknown(t *testing.T) {
	in := forecast.Input{Now: now, Forks: 1, Pools: []engine.Pool{{Name: "etcd"}}, Earlier: engine.EarlierTimes{Hosts: map[string][]engine.HostTimes{}}}
	for _, name := range []string{"etcd-0", "etcd-1"} {
		in.Plan.Hosts = append(in.Plan.Hosts, engine.HostPlan{Host: name, Pool: "etcd", RestartsFirst: name == "etcd-0", Sequence: []engine.Step{{}}})
		in.Plan.Batches = append(in.Plan.Batches, engine.Batch{Hosts: []string{name}, Pools: []string{"etcd"}})
		in.Earlier.Hosts[name] = []engine.HostTimes{{Host: name, Batch: minute}}
	}
	if f := forecast.Make(in); f.Known || len(f.Without) > 0 || !slices.Equal(f.Replanned, []string{"etcd-0"}) || !f.Ends.IsZero() {
		t.Errorf("%+v", f)
	}
	plans, all := forecast.Plays(in, []engine.Plan{in.Plan, in.Plan})
	for _, f := range []*engine.Forecast{plans[0].Forecast, plans[1].Forecast, all} {
		if f.Known || !slices.Equal(f.Replanned, []string{"etcd-0"}) {
			t.Errorf("%+v", f)
		}
	}
}

// TestForecastIsConsistent checks that batches follow each other, that soaks
// count, and that a batch runs only when all windows of the pools that it disrupts have
// time for it; and that nothing is told about hosts of which nothing is known.
func TestForecastIsConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		f := forecast.Make(in)
		if !f.Known {
			if len(f.Without) == 0 || f.Takes != 0 || f.Batches != nil || !f.Ends.IsZero() {
				t.Fatalf("an unknown forecast tells more: %+v", f)
			}
			return
		}
		at := now.Add(time.Duration(f.Staging))
		for i, b := range f.Batches {
			soaked := at.Add(time.Duration(in.Plan.Batches[i].Soak))
			if b.Begins.Before(soaked) {
				t.Fatalf("batch %d begins at %s, before its soak ends at %s", i+1, b.Begins, soaked)
			}
			pool := in.Pools[slices.IndexFunc(in.Pools, func(p engine.Pool) bool { return p.Name == in.Plan.Batches[i].Pools[0] })]
			ok, opens := window.MayBegin(pool.Windows, b.Begins, pool.Takes())
			if misses := !ok && in.Plan.Hosts[i].Disruptive(); misses != b.MissesWindow || misses && !opens.Equal(b.Opens) {
				t.Fatalf("batch %d: %+v, but the window has time: %v", i+1, b, ok)
			}
			if b.MissesWindow {
				continue
			}
			if !b.Ends.After(b.Begins) {
				t.Fatalf("batch %d takes no time: %+v", i+1, b)
			}
			at = b.Ends
		}
		if f.Ends.Before(at) || f.Ends.Sub(now) != time.Duration(f.Takes) {
			t.Fatalf("ends at %s after %s: %+v", f.Ends, f.Takes, f.Batches)
		}
	})
}

// TestSlowerHostsTakeLonger checks that a forecast never becomes shorter when
// earlier runs took longer. Windows are left out: a batch that misses its
// window takes no time.
func TestSlowerHostsTakeLonger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		for i := range in.Pools {
			in.Pools[i].Windows = nil
		}
		in.Forks = 1 // with more, a longer lane may let the others be packed better
		before := forecast.Make(in)
		for _, list := range in.Earlier.Hosts {
			for i := range list {
				list[i].Staging += drawTime(t)
				list[i].Batch += drawTime(t)
			}
		}
		if after := forecast.Make(in); after.Known != before.Known || after.Takes < before.Takes {
			t.Fatalf("%s became %s", before.Takes, after.Takes)
		}
	})
}

// TestForecast checks the sums of one plan.
func TestForecast(t *testing.T) {
	reboot := &engine.Reboot{Kind: engine.FullReboot}
	stage := []engine.Step{{Name: "stage"}}
	in := forecast.Input{
		Now: now, Forks: 8,
		Plan: engine.Plan{
			Hosts: []engine.HostPlan{
				{Host: "a", Pool: "p", Reboot: reboot, Stage: stage},
				{Host: "b", Pool: "p", Reboot: reboot, Stage: stage},
				{Host: "c", Pool: "q", Actions: []engine.Action{{Type: engine.DrainAction}}},
			},
			Lanes: []engine.Lane{{Hosts: []string{"a", "b"}}},
			Batches: []engine.Batch{
				{Hosts: []string{"a"}, Pools: []string{"p"}},
				{Hosts: []string{"b"}, Pools: []string{"p"}, Soak: 15 * minute},
				{Hosts: []string{"c"}, Pools: []string{"q"}},
			},
		},
		Pools: []engine.Pool{{Name: "p"}, {Name: "q", Windows: []engine.Window{{FromMinutes: 21 * 60, ToMinutes: 23 * 60}}}},
		Earlier: engine.EarlierTimes{
			Hosts: map[string][]engine.HostTimes{
				"a": {{Staging: 3 * minute, Batch: 9 * minute, Reboot: engine.FullReboot}, {Staging: 5 * minute, Batch: 10 * minute, Reboot: engine.FullReboot}, {Staging: 4 * minute, Batch: minute, Reboot: engine.SoftReboot}},
				"c": {{Batch: 2 * minute}},
			},
			Gaps: []engine.Duration{minute},
		},
	}
	f := forecast.Make(in)
	// Staging 4 + 4, gap 1, batch 10, gap 1, soak 15, batch 10, gap 1; then 22:46, too late for a batch of 30 minutes.
	if !f.Known || f.Staging != 8*minute || f.Takes != 46*minute || !slices.Equal(f.Without, []string{"b"}) || !f.Batches[2].MissesWindow || !f.Batches[2].Opens.Equal(now.Add(23*time.Hour)) {
		t.Errorf("%+v", f)
	}
	in.Earlier.Hosts = map[string][]engine.HostTimes{"c": {{Batch: 2 * minute}}}
	if f = forecast.Make(in); f.Known || !slices.Equal(f.Without, []string{"a", "b"}) {
		t.Errorf("%+v", f)
	}
	in.Plan = engine.Plan{}
	if f = forecast.Make(in); f != nil {
		t.Errorf("a plan without work has a forecast: %+v", f)
	}
}

// TestPlays checks that the plays of a playbook follow each other, that each counts only its own durations, and that a
// host is staged once.
func TestPlays(t *testing.T) {
	stage := []engine.Step{{Name: "stage"}}
	hosts := func(names ...string) (list []engine.HostPlan) {
		for _, name := range names {
			list = append(list, engine.HostPlan{Host: name, Pool: "p", Reboot: &engine.Reboot{Kind: engine.FullReboot}, Stage: stage})
		}
		return list
	}
	lanes := []engine.Lane{{Hosts: []string{"a"}}, {Hosts: []string{"b"}}}
	plans := []engine.Plan{
		{Play: "stage", Hosts: []engine.HostPlan{{Host: "a", Pool: "p", Stage: stage}}, Lanes: lanes[:1]},
		{Play: "idle"},
		{Play: "etcd", Hosts: hosts("a", "b"), Lanes: lanes, Batches: []engine.Batch{{Hosts: []string{"a"}, Pools: []string{"p"}}, {Hosts: []string{"b"}, Pools: []string{"p"}}}},
		{Play: "again", Hosts: hosts("a"), Lanes: lanes[:1], Batches: []engine.Batch{{Hosts: []string{"a"}, Pools: []string{"p"}}}},
	}
	reboot := func(play string, minutes engine.Duration) engine.HostTimes {
		return engine.HostTimes{Play: play, Batch: minutes * minute, Reboot: engine.FullReboot}
	}
	in := forecast.Input{Now: now, Forks: 8, Pools: []engine.Pool{{Name: "p"}}, Earlier: engine.EarlierTimes{Hosts: map[string][]engine.HostTimes{
		"a": {{Staging: 3 * minute}, reboot("etcd", 10), reboot("", 100), reboot("again", 7)}, "b": {{Play: "old", Staging: 5 * minute}},
	}}}
	got, all := forecast.Plays(in, plans)
	// The first play takes 3, the third 5 and 10 and 10, and the last 7.
	if !all.Known || all.Takes != 35*minute || !all.Ends.Equal(now.Add(35*time.Minute)) || len(all.Without) > 0 {
		t.Errorf("all plays: %+v", all)
	}
	if got[1].Forecast != nil || got[2].Forecast.Takes != 25*minute || got[2].Forecast.Staging != 5*minute || !got[2].Forecast.Batches[0].Begins.Equal(now.Add(8*time.Minute)) || got[3].Forecast.Takes != 7*minute {
		t.Errorf("plays: %+v %+v %+v", got[1].Forecast, got[2].Forecast, got[3].Forecast)
	}
	if plans[0].Forecast != nil || len(plans[2].Hosts[0].Stage) == 0 {
		t.Error("the plans were changed")
	}
	plans[2].Play = "new"
	got, all = forecast.Plays(in, plans)
	if all.Known || !slices.Equal(all.Without, []string{"a", "b"}) || all.Takes != 0 || !got[0].Forecast.Known || got[2].Forecast.Known || got[3].Forecast.Known {
		t.Errorf("after a play that is not known: %+v, %+v", all, got[3].Forecast)
	}
	if _, all = forecast.Plays(in, plans[1:2]); all != nil {
		t.Errorf("plays without work have a forecast: %+v", all)
	}
}
