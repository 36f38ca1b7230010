package rollout_test

import (
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/hosttest"
)

// hostIncidents returns the incidents of hosts, by kind.
func hostIncidents() map[string]func(*hosttest.Site, *hosttest.Host) {
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

// takesHold reports whether somebody takes a hold in that kind of incident.
func takesHold(kind string) bool { return kind == "other run" || kind == "maintenance" }

// callFaults returns the faults of calls, by kind.
func callFaults() map[string]hosttest.Fault {
	return map[string]hosttest.Fault{
		"call lost": hosttest.LostThere, "answer lost": hosttest.LostBack, "call fails": hosttest.Fails,
		"killed before": hosttest.KillBefore, "killed after": hosttest.KillAfter,
	}
}

// runIncidents returns the kinds of incidents of the run itself.
func runIncidents() []string {
	return []string{"killed", "Ctrl-C", "Ctrl-C twice", "journal full", "gate shut", "gate late"}
}

// incidentKinds returns all kinds, sorted.
func incidentKinds() []string {
	var all []string
	for k := range hostIncidents() {
		all = append(all, k)
	}
	for k := range callFaults() {
		all = append(all, k)
	}
	all = append(all, runIncidents()...)
	slices.Sort(all)
	return all
}
