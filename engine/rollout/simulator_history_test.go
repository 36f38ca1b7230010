package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// history is a site with a list of acts and incidents.
type history struct {
	inv      engine.Inventory
	begins   time.Duration       // time since the midnight before a Saturday
	updated  []string            // hosts that run the new OS at the start
	had      map[string]string   // settings at the start, by host; a host that is missing has no settings
	wants    []map[string]string // settings in each act, and in the last run
	acts     []act
	os       []map[string]string // OS of each pool in each act, and in the last run; a pool that is missing has the new OS
	labels   map[string]string   // version of each OS
	says     bool                // the inventory names these versions, too
	uploads  map[string]time.Duration
	soft     []string // hosts whose reboots are soft
	survives []string // those of them whose etcd members run on meanwhile
	kexecs   []string // hosts that can kexec

	kubernetes []kubernetesHistory

	tell     func(tale string)                   // called with the transcript; may be nil
	sabotage func(*simulator.Site, *rollout.Run) // changes every run; may be nil
}

// act is a run, or two overlapping runs from two bastions, with incidents.
type act struct {
	by     int // number of the bastion
	runs   []enacted
	paused []string // names of pools and hosts
	pause  time.Duration
}

// enacted is a run in an act.
type enacted struct {
	later    time.Duration
	best     bool // option --best-effort
	over     bool // the run may begin another OS over an unfinished roll-out
	full     bool // option --full-reboot
	plays    []engine.Play
	troubles []incident
}

// incident is one fault at one moment of a run. The fault of a call happens at
// the call with this number to a host. Any other fault happens after this
// number of journaled events about a host. At number 0 it happens before the
// run.
type incident struct {
	kind string
	host string // host that has the fault
	on   string // host whose events or calls are counted; "": events and calls without a host
	at   int
	late time.Duration // delay after that moment, for holds
}

func (t incident) String() string {
	return fmt.Sprintf("%s (%s, %s after %d of %q)", t.kind, t.host, t.late, t.at, t.on)
}

// dice has the random numbers of a history.
type dice struct{ *rand.Rand }

func (d dice) oneIn(n int) bool { return d.IntN(n) == 0 }

func anyOf[T any](d dice, list ...T) T { return list[d.IntN(len(list))] }

func newHistory(seed uint64) history {
	d := dice{rand.New(rand.NewPCG(seed, 14))}
	h := history{inv: d.newInventory(), begins: time.Duration(d.IntN(7*24*60)) * time.Minute}
	var names []string
	for _, host := range h.inv.Hosts {
		names = append(names, host.Name)
		if d.oneIn(6) {
			h.updated = append(h.updated, host.Name)
		}
	}
	for range anyOf(d, 1, 1, 1, 2, 2, 3) {
		h.acts = append(h.acts, d.newAct(h.inv, names))
	}
	d.addSettings(&h, names)
	dice{rand.New(rand.NewPCG(seed, 15))}.addVariants(&h)
	dice{rand.New(rand.NewPCG(seed, 16))}.addUploadTimes(&h)
	dice{rand.New(rand.NewPCG(seed, 17))}.addSoftReboots(&h)
	dice{rand.New(rand.NewPCG(seed, 18))}.addSurvivors(&h)
	dice{rand.New(rand.NewPCG(seed, 19))}.addKexecs(&h)
	dice{rand.New(rand.NewPCG(seed, 20))}.addRequiredKinds(&h)
	dice{rand.New(rand.NewPCG(seed, 21))}.addFullReboots(&h)
	dice{rand.New(rand.NewPCG(seed, 22))}.addReboots(&h)
	dice{rand.New(rand.NewPCG(seed, 23))}.addKubernetes(&h)
	dice{rand.New(rand.NewPCG(seed, 24))}.addPower(&h)
	return h
}

func (d dice) newAct(inv engine.Inventory, names []string) act {
	a := act{by: d.IntN(8) / 7, pause: anyOf(d, 0, time.Minute, 3*time.Hour, 20*time.Hour), runs: []enacted{{best: d.oneIn(8)}}}
	if d.oneIn(8) {
		a.runs = append(a.runs, enacted{later: time.Duration(d.IntN(300))*time.Second + 7*time.Microsecond})
	}
	for i := range a.runs {
		for range d.IntN(4) {
			a.runs[i].troubles = append(a.runs[i].troubles, d.newIncident(names))
		}
	}
	if d.oneIn(6) {
		a.paused = append(a.paused, anyOf(d, inv.Pools...).Name)
	}
	if d.oneIn(6) {
		a.paused = append(a.paused, anyOf(d, names...))
	}
	return a
}

func (d dice) newIncident(names []string) incident {
	t := incident{kind: anyOf(d, incidentKinds()...), host: anyOf(d, names...), at: d.IntN(28)}
	if hostIncidents()[t.kind] == nil {
		t.at = max(1, t.at)
	}
	switch d.IntN(4) {
	case 0:
		t.on = anyOf(d, names...)
	case 1, 2:
		t.on = t.host
	}
	return t
}

// addSettings makes a history of the OS alone, of settings alone, or of both.
func (d dice) addSettings(h *history, names []string) {
	about := anyOf(d, "os", "os", "settings", "both")
	if about == "os" {
		return
	}
	if about == "settings" {
		h.inv, h.updated = noOS(h.inv), nil
	}
	for i := range h.inv.Pools {
		p := &h.inv.Pools[i]
		p.Drift = anyOf(d, engine.RepairDrift, engine.ReportDrift)
		p.OnActionFailure = anyOf(d, engine.RebootOnFailure, engine.StopOnFailure)
	}
	words := []string{"", "none-1", "reload-2", "restart-3", "drain-reload-4", "drain-restart-6", "reboot-7", "none-8", "none-login-9", "drain-reload-login-10"}
	draw := func(words []string) map[string]string {
		m, same := map[string]string{}, anyOf(d, words...)
		for _, name := range names {
			if m[name] = same; d.oneIn(2) {
				m[name] = anyOf(d, words...)
			}
		}
		return m
	}
	h.had = draw(words)
	wanted := draw(words[1:])
	for range len(h.acts) + 1 {
		if h.wants = append(h.wants, wanted); d.oneIn(2) {
			wanted = draw(words[1:])
		}
	}
}

// inventoryOf returns the inventory of an act, or of the last run. In the last
// run nothing is paused and all windows are open.
func (h history) inventoryOf(i int) engine.Inventory {
	inv := h.inv
	inv.Pools, inv.Hosts = slices.Clone(inv.Pools), slices.Clone(inv.Hosts)
	var paused []string
	if i < len(h.acts) {
		paused = h.acts[i].paused
	}
	for n := range inv.Pools {
		p := &inv.Pools[n]
		p.Paused = slices.Contains(paused, p.Name)
		if i == len(h.acts) {
			p.Windows, p.Drain = nil, patientDrain(p.Drain)
			if p.Reboot.Soft == engine.RequireSoft {
				p.Reboot.Soft = engine.AutoSoft
			}
		}
		if p.OS != nil && h.os != nil {
			p.OS = h.targetOS(p.OS.Driver, h.os[i][p.Name])
		}
	}
	for n := range inv.Hosts {
		h := &inv.Hosts[n]
		if h.Paused = slices.Contains(paused, h.Name); h.Paused && (i+n)%2 == 1 { // three ways to leave a host alone
			h.Paused, h.Maintenance = false, "fans"
			if n%3 == 0 && h.Cluster == "" {
				h.Maintenance, h.Leaving = "", true
			}
		}
	}
	return inv
}

func (h history) String() string {
	var s strings.Builder
	if h.os != nil {
		fmt.Fprintf(&s, "os %v, labels %v, which the inventory says: %v\n", h.os, h.labels, h.says)
	}
	fmt.Fprintf(&s, "begins %s, the site may lose %v, clusters %v\n", h.begins, h.inv.MaxUnavailable, h.inv.Clusters)
	for _, p := range h.inv.Pools {
		fmt.Fprintf(&s, "pool %s after %v, os %v, may lose %v, failures %v, order %q, windows %v of %s, on_failure %q", p.Name, p.After, p.OS != nil, p.MaxUnavailable, p.FailureBudget, p.Order, p.Windows, p.BatchTakes, p.OnFailure)
		if p.Canary != nil {
			fmt.Fprintf(&s, ", canary %v soaks %s", p.Canary.Hosts, p.Canary.Soak)
		}
		if p.MaxSkew != nil {
			fmt.Fprintf(&s, ", max_skew %d", *p.MaxSkew)
		}
		fmt.Fprintf(&s, ", reboot %+v, drain %v, drift %q, on_action_failure %q, gates %v\n", p.Reboot, p.Drain != nil, p.Drift, p.OnActionFailure, p.Gates)
	}
	for _, x := range h.inv.Hosts {
		fmt.Fprintf(&s, "%s: pool %s, cluster %q, zone %q, updated %v, soft %v, survives %v, kexec %v, upload %s, BMC %v, had %q", x.Name, x.Pool, x.Cluster, x.Zone, slices.Contains(h.updated, x.Name), slices.Contains(h.soft, x.Name), slices.Contains(h.survives, x.Name), slices.Contains(h.kexecs, x.Name), h.uploads[x.Name], x.BMC != nil, h.had[x.Name])
		for _, w := range h.wants {
			fmt.Fprintf(&s, ", %s", w[x.Name])
		}
		s.WriteString("\n")
	}
	s.WriteString(h.kubernetesText())
	for i, a := range h.acts {
		fmt.Fprintf(&s, "act %d by %d, paused %v, then %s\n", i, a.by, a.paused, a.pause)
		for _, r := range a.runs {
			fmt.Fprintf(&s, "  run later %s, best effort %v, over incomplete %v, full reboots %v: %v\n", r.later, r.best, r.over, r.full, r.troubles)
			for _, p := range r.plays {
				fmt.Fprintf(&s, "    %s\n", playText(p))
			}
		}
	}
	return s.String()
}

// smallerHistories returns histories with fewer parts.
func (h history) smallerHistories() []history {
	var list []history
	add := func(change func(*history)) {
		less := h
		less.acts, less.wants, less.os = slices.Clone(h.acts), slices.Clone(h.wants), slices.Clone(h.os)
		less.inv.Pools, less.inv.Hosts = slices.Clone(h.inv.Pools), slices.Clone(h.inv.Hosts)
		for i := range less.acts {
			less.acts[i].runs = slices.Clone(less.acts[i].runs)
		}
		less.kubernetes = slices.Clone(h.kubernetes)
		change(&less)
		if less.String() != h.String() {
			list = append(list, less)
		}
	}
	for i := range h.acts {
		add(func(x *history) {
			x.acts = slices.Delete(x.acts, i, i+1)
			if x.wants != nil {
				x.wants = slices.Delete(x.wants, i, i+1)
			}
			if x.os != nil {
				x.os = slices.Delete(x.os, i, i+1)
			}
		})
		add(func(x *history) { x.acts[i].runs = x.acts[i].runs[:1] })
		add(func(x *history) { x.acts[i].paused = nil })
		for r := range h.acts[i].runs {
			add(func(x *history) { x.acts[i].runs[r].best = false })
			add(func(x *history) { x.acts[i].runs[r].full = false })
			add(func(x *history) { x.acts[i].runs[r].plays = nil })
			for n := range h.acts[i].runs[r].plays {
				add(func(x *history) {
					all := &x.acts[i].runs[r].plays
					*all = slices.Delete(slices.Clone(*all), n, n+1)
				})
			}
			for n := range h.acts[i].runs[r].troubles {
				add(func(x *history) {
					all := &x.acts[i].runs[r].troubles
					*all = slices.Delete(slices.Clone(*all), n, n+1)
				})
			}
		}
	}
	for i, host := range h.inv.Hosts {
		add(func(x *history) {
			if len(h.inv.Members(host.Cluster)) != 1 && len(h.inv.Hosts) > 1 && !h.involvesHost(host.Name) {
				x.inv.Hosts = slices.Delete(x.inv.Hosts, i, i+1)
			}
		})
	}
	for i := range h.inv.Pools {
		for _, change := range []func(*engine.Pool){
			func(p *engine.Pool) { p.Gates = nil },
			func(p *engine.Pool) { p.Drain = nil },
			func(p *engine.Pool) { p.Canary = nil },
			func(p *engine.Pool) { p.Windows = nil },
			func(p *engine.Pool) { p.After = nil },
			func(p *engine.Pool) { p.MaxUnavailable = engine.CountOrPercent{} },
			func(p *engine.Pool) { p.FailureBudget = engine.CountOrPercent{} },
			func(p *engine.Pool) { p.OnFailure = "" },
			func(p *engine.Pool) { p.Order = "" },
			func(p *engine.Pool) { p.Reboot = engine.RebootSetting{} },
			func(p *engine.Pool) { p.MaxSkew = nil },
		} {
			add(func(x *history) { change(&x.inv.Pools[i]) })
		}
	}
	add(func(x *history) { x.inv.MaxUnavailable = engine.CountOrPercent{} })
	add(func(x *history) { x.soft, x.survives = nil, nil })
	add(func(x *history) { x.survives = nil })
	add(func(x *history) { x.kexecs = nil })
	add(func(x *history) {
		for i := range x.inv.Hosts {
			x.inv.Hosts[i].BMC = nil
		}
	})
	add(func(x *history) {
		x.kubernetes, x.inv.Kubernetes = nil, nil
		leaveKubernetes(x.inv, func(engine.Host) bool { return true })
	})
	for i, k := range h.kubernetes {
		add(func(x *history) { x.kubernetes[i].cordoned, x.kubernetes[i].servers = nil, nil })
		for n := range k.apps {
			add(func(x *history) { x.kubernetes[i].apps = slices.Delete(slices.Clone(k.apps), n, n+1) })
		}
	}
	for _, host := range h.inv.Hosts {
		add(func(x *history) { leaveKubernetes(x.inv, func(o engine.Host) bool { return o.Name == host.Name }) })
	}
	return list
}

// involvesHost reports whether an incident happens to a host, or at an event or
// call of that host.
func (h history) involvesHost(host string) bool {
	for _, a := range h.acts {
		for _, r := range a.runs {
			if slices.ContainsFunc(r.troubles, func(t incident) bool { return t.host == host || t.on == host }) {
				return true
			}
		}
	}
	return false
}
