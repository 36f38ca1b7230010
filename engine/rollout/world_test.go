package rollout_test

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/hosttest"
)

// trouble is one thing that goes wrong at some moment of a run: once so many
// events are journaled or, for what happens to a call, at that call.
type trouble struct {
	kind string
	at   int
	host string
}

func (t trouble) String() string { return fmt.Sprintf("%s %s at %d", t.kind, t.host, t.at) }

// happens are the kinds of trouble that come over a host.
func happens() map[string]func(*hosttest.Site, *hosttest.Host) {
	change := func(f func(*hosttest.Traits)) func(*hosttest.Site, *hosttest.Host) {
		return func(_ *hosttest.Site, h *hosttest.Host) { h.Change(f) }
	}
	hold := func(kind engine.HoldKind) func(*hosttest.Site, *hosttest.Host) {
		return func(_ *hosttest.Site, h *hosttest.Host) {
			if h.Hold() == nil { // nobody's hold is ever replaced
				h.SetHold(&engine.Hold{Kind: kind, Holder: "bob@b9", Run: "bobs", Reason: "his"})
			}
		}
	}
	return map[string]func(*hosttest.Site, *hosttest.Host){
		"power cut":    func(_ *hosttest.Site, h *hosttest.Host) { h.Reset() },
		"power off":    func(_ *hosttest.Site, h *hosttest.Host) { h.PowerOff() },
		"cable":        func(_ *hosttest.Site, h *hosttest.Host) { h.Cut() },
		"blink":        func(s *hosttest.Site, h *hosttest.Host) { h.Cut(); s.After(40*time.Second, h.Heal) },
		"etcd stops":   func(_ *hosttest.Site, h *hosttest.Host) { h.StopEtcd() },
		"other run":    hold(engine.RunHold),
		"maintenance":  hold(engine.MaintenanceHold),
		"no return":    change(func(t *hosttest.Traits) { t.NoReturn = true }),
		"old OS":       change(func(t *hosttest.Traits) { t.OldOS = true }),
		"disk full":    change(func(t *hosttest.Traits) { t.DiskFull = true }),
		"stubborn":     change(func(t *hosttest.Traits) { t.Stubborn = true }),
		"unit fails":   change(func(t *hosttest.Traits) { t.Failing = []string{"sshd.service"} }),
		"unit missing": change(func(t *hosttest.Traits) { t.Missing = []string{"sshd.service"} }),
		"no etcd":      change(func(t *hosttest.Traits) { t.NoEtcd = true }),
		"edit":         func(_ *hosttest.Site, h *hosttest.Host) { h.Edit("mine") },
		"read only":    change(func(t *hosttest.Traits) { t.ReadOnly = true }),
		"act fails":    change(func(t *hosttest.Traits) { t.ActFails = true }),
		"act hangs":    change(func(t *hosttest.Traits) { t.ActHangs = true }),
		"forgets":      change(func(t *hosttest.Traits) { t.ActFails, t.Forgets = true, true }),
		"app dies":     change(func(t *hosttest.Traits) { t.ActFails, t.AppDies = true, true }),
		"cut before":   change(func(t *hosttest.Traits) { t.CutsPower = "before" }),
		"cut written":  change(func(t *hosttest.Traits) { t.CutsPower = "written" }),
		"cut acted":    change(func(t *hosttest.Traits) { t.CutsPower = "acted" }),
		"cut recorded": change(func(t *hosttest.Traits) { t.CutsPower = "recorded" }),
		"unclear":      change(func(t *hosttest.Traits) { t.Unclear = "two deployments are booted" }),
	}
}

// faults are the kinds of trouble that come over a call.
func faults() map[string]hosttest.Fault {
	return map[string]hosttest.Fault{
		"call lost": hosttest.LostThere, "answer lost": hosttest.LostBack, "call fails": hosttest.Fails,
		"killed before": hosttest.KillBefore, "killed after": hosttest.KillAfter,
	}
}

// ofRun are the kinds of trouble that come over the run itself.
func ofRun() []string { return []string{"killed", "Ctrl-C", "Ctrl-C twice", "journal full"} }

// randomWorld is a site and what will go wrong in the runs on it.
type randomWorld struct {
	inv      engine.Inventory
	updated  []string            // hosts that run the new OS already
	had      map[string]string   // settings at first; none where nothing is said about settings
	wants    []map[string]string // settings in each run, the last one's last
	troubles [][]trouble         // of each run but the last, which has none
	pause    time.Duration       // between runs
}

func (w randomWorld) String() string {
	return fmt.Sprintf("%d hosts, pools %+v, updated %v, settings %v to be %v, pause %s, troubles %v", len(w.inv.Hosts), w.inv.Pools, w.updated, w.had, w.wants, w.pause, w.troubles)
}

func anyWorld(t *rapid.T) randomWorld {
	w := randomWorld{inv: anySite(t), pause: rapid.SampledFrom([]time.Duration{0, time.Minute, 3 * time.Hour}).Draw(t, "pause")}
	var names []string
	for _, h := range w.inv.Hosts {
		names = append(names, h.Name)
		if rapid.IntRange(0, 5).Draw(t, "updated") == 0 {
			w.updated = append(w.updated, h.Name)
		}
	}
	var kinds []string
	for k := range happens() {
		kinds = append(kinds, k)
	}
	for k := range faults() {
		kinds = append(kinds, k)
	}
	kinds = append(kinds, ofRun()...)
	slices.Sort(kinds)
	for range rapid.IntRange(1, 2).Draw(t, "runs") {
		var all []trouble
		for range rapid.IntRange(0, 3).Draw(t, "troubles") {
			all = append(all, trouble{
				kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
				at:   rapid.IntRange(1, 130).Draw(t, "at"),
				host: rapid.SampledFrom(names).Draw(t, "host"),
			})
		}
		w.troubles = append(w.troubles, all)
	}
	w.drawSettings(t, names)
	return w
}

// drawSettings makes the world one of the OS alone, of settings alone, or of both.
func (w *randomWorld) drawSettings(t *rapid.T, names []string) {
	about := rapid.SampledFrom([]string{"os", "settings", "both"}).Draw(t, "about")
	if about == "os" {
		return
	}
	if about == "settings" {
		w.inv, w.updated = noOS(w.inv), nil
	}
	for i := range w.inv.Pools {
		p := &w.inv.Pools[i]
		p.Drift = rapid.SampledFrom([]engine.DriftMode{engine.RepairDrift, engine.ReportDrift}).Draw(t, "drift")
		p.OnActionFailure = rapid.SampledFrom([]engine.OnFailure{"", engine.StopOnFailure}).Draw(t, "on_action_failure")
	}
	words := []string{"", "none-1", "reload-2", "restart-3", "drain-reload-4", "drain-restart-6", "reboot-7", "none-8"}
	draw := func(words []string) map[string]string {
		m, same := map[string]string{}, rapid.SampledFrom(words).Draw(t, "word")
		for _, name := range names {
			if m[name] = same; rapid.Bool().Draw(t, "differs") {
				m[name] = rapid.SampledFrom(words).Draw(t, "word")
			}
		}
		return m
	}
	w.had = draw(words)
	first := draw(words[1:])
	for range w.troubles {
		if w.wants = append(w.wants, first); rapid.Bool().Draw(t, "wanted otherwise") {
			first = draw(words[1:])
		}
	}
	w.wants = append(w.wants, first)
}

// begin lets the run of that number want its settings.
func (w randomWorld) begin(site *hosttest.Site, run int) {
	if w.wants == nil {
		return
	}
	for name, word := range w.wants[run] {
		site.Want(name, word)
	}
}

func anySite(t *rapid.T) engine.Inventory {
	members := rapid.SampledFrom([]int{0, 1, 3, 3, 5}).Draw(t, "members")
	workers := rapid.IntRange(0, 4).Draw(t, "workers")
	if members+workers == 0 {
		workers = 1
	}
	inv := hosttest.Fleet(members, workers)
	for i := range inv.Clusters {
		inv.Clusters[i].AllowOutage = true
	}
	workerPool := &inv.Pools[1]
	workerPool.MaxUnavailable = engine.Limit{Count: rapid.IntRange(1, 3).Draw(t, "max_unavailable")}
	if rapid.Bool().Draw(t, "side by side") {
		workerPool.After = nil
	}
	if rapid.Bool().Draw(t, "members are drained") {
		inv.Pools[0].Drain = workerPool.Drain
	}
	for _, when := range []engine.GateWhen{engine.BeforeBatch, engine.BeforeHost, engine.AfterHost, engine.AfterBatch} {
		if rapid.IntRange(0, 3).Draw(t, "gate") == 0 {
			workerPool.Gates = append(workerPool.Gates, engine.Gate{Name: string(when), Command: "ready", When: []engine.GateWhen{when}})
		}
	}
	for i := range inv.Hosts {
		inv.Hosts[i].Zone = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")
	}
	return inv
}
