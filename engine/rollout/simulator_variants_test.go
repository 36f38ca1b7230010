package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/simulator"
)

// addVariants adds another OS during the roll-out, max_skew and playbooks to some histories.
func (d dice) addVariants(h *history) {
	if slices.ContainsFunc(h.inv.Pools, func(p engine.Pool) bool { return p.OS != nil }) {
		if d.oneIn(4) {
			d.addTargets(h)
		}
		if d.oneIn(5) {
			d.addVersions(h)
		}
	}
	for i := range h.acts {
		for n := range h.acts[i].runs {
			if d.oneIn(5) {
				h.acts[i].runs[n].plays = d.newPlays(h.inv)
			}
		}
	}
}

// addUploadTimes draws how long a write takes to arrive on each host. It moves
// most holds of others into the middle of a write or of a staging.
func (d dice) addUploadTimes(h *history) {
	h.uploads = map[string]time.Duration{}
	for _, host := range h.inv.Hosts {
		h.uploads[host.Name] = anyOf(d, 0, 20*time.Second, time.Minute)
	}
	for i := range h.acts {
		for n := range h.acts[i].runs {
			troubles := h.acts[i].runs[n].troubles
			for k := range troubles {
				if takesHold(troubles[k].kind) && !d.oneIn(4) {
					troubles[k].late = d.newMoment()
				}
			}
		}
	}
	d.addHoldsInWrites(h)
}

func (d dice) addHoldsInWrites(h *history) {
	for i := range h.acts {
		for n := range h.acts[i].runs {
			if h.wants == nil || !d.oneIn(6) {
				continue
			}
			host, run := anyOf(d, h.inv.Hosts...).Name, &h.acts[i].runs[n]
			run.troubles = append(run.troubles, incident{kind: "maintenance", host: host, on: host, at: 1 + d.IntN(2), late: d.newMoment()})
		}
	}
}

// addSoftReboots draws the hosts that can soft reboot, in half of the histories, the runs in which one
// of them cannot prepare that, and the pools that allow it.
func (d dice) addSoftReboots(h *history) {
	if d.oneIn(2) {
		return
	}
	for _, host := range h.inv.Hosts {
		if !d.oneIn(3) {
			h.soft = append(h.soft, host.Name)
		}
	}
	for i := range h.acts {
		for n := range h.acts[i].runs {
			if run := &h.acts[i].runs[n]; len(h.soft) > 0 && d.oneIn(3) {
				host := anyOf(d, h.soft...)
				run.troubles = append(run.troubles, incident{kind: "unprepared", host: host, on: host, at: 1 + d.IntN(20)})
			}
		}
	}
	for i := range h.inv.Pools {
		if !d.oneIn(3) {
			h.inv.Pools[i].Reboot.Soft = engine.AutoSoft
		}
	}
}

// addSurvivors draws the members that run on during soft reboots, in two of three histories with soft reboots.
func (d dice) addSurvivors(h *history) {
	if d.oneIn(3) {
		return
	}
	for _, name := range h.soft {
		if host, ok := h.inv.Host(name); ok && host.Cluster != "" && !d.oneIn(3) {
			h.survives = append(h.survives, name)
		}
	}
}

// addKexecs draws the hosts that can kexec, in half of the histories, the pools that allow it, and
// the runs in which one of the hosts cannot load a kernel, or loses its power after the order.
func (d dice) addKexecs(h *history) {
	if d.oneIn(2) {
		return
	}
	for _, host := range h.inv.Hosts {
		if !d.oneIn(3) {
			h.kexecs = append(h.kexecs, host.Name)
		}
	}
	for i := range h.inv.Pools {
		p := &h.inv.Pools[i]
		if p.OS != nil { // no other driver has a kexec
			ostree := *p.OS
			ostree.Driver, p.OS = "ostree", &ostree
		}
		if !d.oneIn(3) {
			p.Reboot.Kexec = engine.AutoKexec
		}
	}
	for i := range h.acts {
		for n := range h.acts[i].runs {
			if run := &h.acts[i].runs[n]; len(h.kexecs) > 0 && d.oneIn(3) {
				host := anyOf(d, h.kexecs...)
				run.troubles = append(run.troubles, incident{kind: anyOf(d, "unprepared", "unprepared", "power cut", "killed"), host: host, on: host, at: 1 + d.IntN(20)})
			}
		}
	}
}

// addPower draws the hosts that have a BMC, in half of the histories, the pools that reset hosts which do not come back, and
// the runs in which one of the hosts hangs in its reboot, or its BMC does not answer.
func (d dice) addPower(h *history) {
	if d.oneIn(2) {
		return
	}
	var able []string
	for i := range h.inv.Hosts {
		if host := &h.inv.Hosts[i]; !d.oneIn(4) {
			host.BMC = &engine.BMC{Address: "bmc", System: host.Name}
			able = append(able, host.Name)
		}
	}
	for i := range h.inv.Pools {
		if p := &h.inv.Pools[i]; !d.oneIn(4) {
			p.Reboot.ResetAfter = engine.Duration(anyOf(d, time.Minute, 3*time.Minute))
		}
	}
	for i := range h.acts {
		for n := range h.acts[i].runs {
			run := &h.acts[i].runs[n]
			for len(able) > 0 && d.oneIn(2) {
				host := anyOf(d, able...)
				run.troubles = append(run.troubles, incident{kind: anyOf(d, hangs, hangs, silentBMC, "power off", "cable"), host: host, on: host, at: 1 + d.IntN(20)})
			}
		}
	}
}

// addRequiredKinds draws pools that require soft reboots, in a third of the histories in which some
// host can soft reboot.
func (d dice) addRequiredKinds(h *history) {
	if len(h.soft) == 0 || !d.oneIn(3) {
		return
	}
	for i := range h.inv.Pools {
		if p := &h.inv.Pools[i]; d.oneIn(2) {
			p.Reboot.Soft = engine.RequireSoft
		}
	}
}

// addFullReboots draws the runs that reboot hosts only in full, in histories in which some host can do otherwise.
func (d dice) addFullReboots(h *history) {
	if len(h.soft) == 0 && len(h.kexecs) == 0 {
		return
	}
	for i := range h.acts {
		for n := range h.acts[i].runs {
			h.acts[i].runs[n].full = d.oneIn(6)
		}
	}
}

// addReboots draws the runs during which a person soft reboots a host whose member runs on, and in half of these histories
// the OS of each act: a member can be left behind only by a second one.
func (d dice) addReboots(h *history) {
	if len(h.survives) == 0 {
		return
	}
	if h.os == nil && slices.ContainsFunc(h.inv.Pools, func(p engine.Pool) bool { return p.OS != nil }) && d.oneIn(2) {
		d.addTargets(h)
	}
	for i := range h.acts {
		for n := range h.acts[i].runs {
			if run := &h.acts[i].runs[n]; d.oneIn(3) {
				host := anyOf(d, h.survives...)
				run.troubles = append(run.troubles, incident{kind: personReboots, host: host, on: anyOf(d, host, ""), at: d.IntN(20)})
			}
		}
	}
}

// newMoment returns a duration of at most 40 seconds, never the same nanosecond
// as a call.
func (d dice) newMoment() time.Duration { return time.Duration(d.IntN(int(40*time.Second))) | 1 }

// addTargets draws the OS of each act, and the runs that may begin another
// roll-out over an unfinished one.
func (d dice) addTargets(h *history) {
	os := simulator.V2
	for range len(h.acts) + 1 {
		act := map[string]string{}
		for _, p := range h.inv.Pools {
			if act[p.Name] = os; d.oneIn(8) {
				act[p.Name] = anyOf(d, simulator.V1, simulator.V2, simulator.V3)
			}
		}
		h.os = append(h.os, act)
		if d.oneIn(2) {
			os = anyOf(d, simulator.V1, simulator.V2, simulator.V3, simulator.V3)
		}
	}
	for i := range h.acts {
		for n := range h.acts[i].runs {
			h.acts[i].runs[n].over = d.oneIn(3)
		}
	}
}

// addVersions draws the versions of the OS, and max_skew between pools that
// follow each other.
func (d dice) addVersions(h *history) {
	h.labels = map[string]string{
		simulator.V1: "4.17.3", simulator.V2: anyOf(d, "4.17.9", "4.18.1", "4.18.1", "4.19.0"), simulator.V3: anyOf(d, "4.18.5", "4.19.2", "4.20.0", "5.0.1"),
	}
	h.says = d.oneIn(2)
	for i := range h.inv.Pools {
		if p := &h.inv.Pools[i]; len(p.After) > 0 && !d.oneIn(3) {
			most := anyOf(d, 0, 1, 1, 2)
			p.MaxSkew = &most
		}
	}
	if h.os == nil {
		for range len(h.acts) + 1 {
			act := map[string]string{}
			for _, p := range h.inv.Pools {
				act[p.Name] = simulator.V2
			}
			h.os = append(h.os, act)
		}
	}
}

// targetOS returns the OS with that digest as the inventory has it.
func (h history) targetOS(driver, digest string) *engine.OS {
	os := &engine.OS{Driver: driver, Commit: digest}
	if h.says {
		os.Version = h.labels[digest]
	}
	return os
}

func (d dice) newPlays(inv engine.Inventory) (list []engine.Play) {
	for i := range anyOf(d, 1, 2, 2, 3) {
		var pools []string
		for _, p := range inv.Pools {
			if !d.oneIn(3) {
				pools = append(pools, p.Name)
			}
		}
		if len(pools) == 0 {
			pools = append(pools, inv.Pools[0].Name)
		}
		p := engine.Play{Name: fmt.Sprintf("play %d", i+1), Hosts: strings.Join(pools, ",")}
		for _, module := range strings.Fields(anyOf(d, "stage", "stage finalize", "finalize", "config", "config finalize", "work", "upset", "reboot", "work config finalize", "config upset", "finalize reboot")) {
			p.Tasks = append(p.Tasks, newTask(module))
		}
		for range anyOf(d, 0, 0, 1, 2) {
			p.Serial = append(p.Serial, d.newBudget())
		}
		if d.oneIn(2) {
			p.MaxFailPercentage = &engine.CountOrPercent{Percent: anyOf(d, 0, 0, 34, 50), Set: true}
		}
		p.AnyErrorsFatal = d.oneIn(3)
		if d.oneIn(4) {
			p.Order = anyOf(d, engine.Sorted, engine.ReverseSorted, engine.InInventory, engine.ReverseInventory, engine.Shuffled)
		}
		list = append(list, p)
	}
	return list
}

func (h history) hasPlays() bool {
	return slices.ContainsFunc(h.acts, func(a act) bool {
		return slices.ContainsFunc(a.runs, func(r enacted) bool { return len(r.plays) > 0 })
	})
}

func newTask(name string) engine.Task {
	if name == simulator.PlainCommand || name == simulator.DisruptingCommand {
		return engine.Task{Name: name, Module: engine.CommandTaskName, Command: &engine.CommandTask{Command: name, Bastion: true, Disrupts: name == simulator.DisruptingCommand}}
	}
	return engine.Task{Name: name, Module: name}
}

func playText(p engine.Play) string {
	var tasks []string
	for _, t := range p.Tasks {
		tasks = append(tasks, t.Name)
	}
	text := fmt.Sprintf("%s on %s: %v, serial %v, any fatal %v, order %q", p.Name, p.Hosts, tasks, p.Serial, p.AnyErrorsFatal, p.Order)
	if p.MaxFailPercentage != nil {
		text += fmt.Sprintf(", may fail %v", *p.MaxFailPercentage)
	}
	return text
}

// hasDesiredState reports whether a successful run left the host with its
// desired state. After a playbook, it checks only the parts for which the
// playbook has tasks.
func (d *simulatedRun) hasDesiredState(h *simulator.Host) bool {
	st := h.State()
	host, _ := d.site.Inventory.Host(h.Name)
	if len(d.asked.Plays) == 0 {
		return st.Matches
	}
	for i, p := range d.asked.Plays {
		if !slices.Contains(strings.Split(p.Hosts, ","), host.Pool) {
			continue
		}
		booted := targetOf(d.site, h) == "" || st.Booted == targetOf(d.site, h)
		set := true
		if c := d.site.Desired()[h.Name].Config; c != nil {
			word := c.Files[0].Digest
			set = st.Disk == word && st.Effect == word && st.Record == word
		}
		did := slices.ContainsFunc(p.Tasks, func(t engine.Task) bool {
			return t.Module == engine.RebootTask || t.Command != nil && t.Command.Disrupts
		})
		switch {
		case p.Has(engine.FinalizeTask) && !booted,
			p.Has(engine.ConfigTask) && !set,
			did && !d.carriedOutPlay(i, h.Name):
			return false
		}
	}
	return true
}

// carriedOutPlay reports whether the play of that number was carried out on the
// host.
func (d *simulatedRun) carriedOutPlay(play int, host string) bool {
	n := -1
	for _, e := range d.run.Events() {
		if e.Type == event.Planned {
			n++
		}
		if n == play && e.Type == event.HostDone && e.Host == host {
			return true
		}
	}
	return false
}
