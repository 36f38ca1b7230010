package rollout_test

import (
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/simulator"
)

// hostIncidents returns the incidents of hosts, by kind.
func hostIncidents() map[string]func(*simulator.Site, *simulator.Host) {
	change := func(f func(*simulator.Traits)) func(*simulator.Site, *simulator.Host) {
		return func(_ *simulator.Site, h *simulator.Host) { h.Change(f) }
	}
	hold := func(kind engine.HoldKind) func(*simulator.Site, *simulator.Host) {
		return func(_ *simulator.Site, h *simulator.Host) {
			if h.Hold() == nil { // an incident never replaces a hold
				h.SetHold(&engine.Hold{Kind: kind, Holder: "bob@b9", Run: "bobs", Reason: "his"})
			}
		}
	}
	return map[string]func(*simulator.Site, *simulator.Host){
		"power cut":    func(_ *simulator.Site, h *simulator.Host) { h.Reset() },
		"power off":    func(_ *simulator.Site, h *simulator.Host) { h.PowerOff() },
		"cable":        func(_ *simulator.Site, h *simulator.Host) { h.Cut() },
		"blink":        func(s *simulator.Site, h *simulator.Host) { h.Cut(); s.After(40*time.Second, h.Heal) },
		"etcd stops":   func(_ *simulator.Site, h *simulator.Host) { h.StopEtcd() },
		"other run":    hold(engine.RunHold),
		"maintenance":  hold(engine.MaintenanceHold),
		"no return":    change(func(t *simulator.Traits) { t.NoReturn = true }),
		"old OS":       change(func(t *simulator.Traits) { t.OldOS = true }),
		"disk full":    change(func(t *simulator.Traits) { t.DiskFull = true }),
		"stubborn":     change(func(t *simulator.Traits) { t.Stubborn = true }),
		"unprepared":   change(func(t *simulator.Traits) { t.Unprepared = true }),
		"unit fails":   change(func(t *simulator.Traits) { t.Failing = []string{"sshd.service"} }),
		"unit missing": change(func(t *simulator.Traits) { t.Missing = []string{"sshd.service"} }),
		"no etcd":      change(func(t *simulator.Traits) { t.NoEtcd = true }),
		"edit":         func(_ *simulator.Site, h *simulator.Host) { h.Edit("mine") },
		"read only":    change(func(t *simulator.Traits) { t.ReadOnly = true }),
		"act fails":    change(func(t *simulator.Traits) { t.ActFails = true }),
		"act hangs":    change(func(t *simulator.Traits) { t.ActHangs = true }),
		"forgets":      change(func(t *simulator.Traits) { t.ActFails, t.Forgets = true, true }),
		"app dies":     change(func(t *simulator.Traits) { t.ActFails, t.AppDies = true, true }),
		"cut before":   change(func(t *simulator.Traits) { t.CutsPower = "before" }),
		"cut written":  change(func(t *simulator.Traits) { t.CutsPower = "written" }),
		"cut acted":    change(func(t *simulator.Traits) { t.CutsPower = "acted" }),
		"cut recorded": change(func(t *simulator.Traits) { t.CutsPower = "recorded" }),
		"unclear":      change(func(t *simulator.Traits) { t.Unclear = "two deployments are booted" }),
		hangs:          change(func(t *simulator.Traits) { t.Hangs = true }),
		silentBMC:      change(func(t *simulator.Traits) { t.SilentBMC = true }),
		personReboots:  func(_ *simulator.Site, h *simulator.Host) { h.SoftReboot() },
	}
}

// personReboots is the kind of an incident that happens only to hosts whose members survive soft reboots.
const personReboots = "soft reboot"

// hangs and silentBMC are the kinds of incidents that happen only where a pool resets hosts that hang.
const (
	hangs     = "hangs until a reset"
	silentBMC = "silent BMC"
)

// takesHold reports whether somebody takes a hold in an incident of that kind.
func takesHold(kind string) bool { return kind == "other run" || kind == "maintenance" }

// callFaults returns the faults of calls, by kind.
func callFaults() map[string]simulator.Fault {
	return map[string]simulator.Fault{
		"call lost": simulator.LostThere, "answer lost": simulator.LostBack, "call fails": simulator.Fails,
		"killed before": simulator.KillBefore, "killed after": simulator.KillAfter,
	}
}

// runIncidents returns the kinds of incidents of the run itself.
func runIncidents() []string {
	return []string{"killed", "Ctrl-C", "Ctrl-C twice", "journal full", "gate shut", "gate late"}
}

// incidentKinds returns the kinds that can happen to any host, sorted.
func incidentKinds() []string {
	var all []string
	for k := range hostIncidents() {
		if k != personReboots && k != hangs && k != silentBMC {
			all = append(all, k)
		}
	}
	for k := range callFaults() {
		all = append(all, k)
	}
	all = append(all, runIncidents()...)
	slices.Sort(all)
	return all
}
