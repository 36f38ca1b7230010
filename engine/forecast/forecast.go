// Package forecast computes how long the work of a plan will take, from the
// durations of earlier runs. It never guesses: without such durations the
// forecast is not known.
package forecast

import (
	"cmp"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/window"
)

// kept is how many of the newest durations of a host count. Their median is
// the forecast.
const kept = 5

// Input has everything that a forecast depends on.
type Input struct {
	Plan    engine.Plan
	Pools   []engine.Pool
	Earlier engine.EarlierTimes
	Now     time.Time
	Forks   int // hosts that are staged at the same time
}

// Make returns the forecast of a plan, or nil if the plan has no host to stage
// or to disrupt.
func Make(in Input) *engine.Forecast {
	f := maker{Input: in, hosts: in.Plan.ByHost(), without: map[string]bool{}, pools: map[string]engine.Pool{}}
	for _, p := range in.Pools {
		f.pools[p.Name] = p
	}
	f.learnPools()
	out := &engine.Forecast{Known: true, Staging: f.addStaging()}
	now := in.Now.Add(time.Duration(out.Staging))
	gap, _ := medianOf(in.Earlier.Gaps) // the run gathers facts and plans after its staging and after each batch, also the last
	if f.stages {
		now = now.Add(time.Duration(gap))
	}
	for _, b := range in.Plan.Batches {
		next, end := f.addBatch(b, now)
		out.Batches = append(out.Batches, next)
		if now = end; !next.MissesWindow {
			now = now.Add(time.Duration(gap))
		}
	}
	for host := range f.without {
		out.Without = append(out.Without, host)
	}
	slices.Sort(out.Without)
	if !f.stages && !f.disrupts {
		return nil
	}
	switch {
	case f.unknown:
		return &engine.Forecast{Without: out.Without, Replanned: f.replanned}
	case len(f.replanned) > 0:
		return &engine.Forecast{Replanned: f.replanned}
	}
	out.Takes, out.Ends = engine.Duration(now.Sub(in.Now)), now
	return out
}

// Plays returns the plans of a playbook with their forecasts, and the forecast of all of them. Each play begins when
// the one before it ends, and a host is staged only once. After a play whose duration is not known, nothing is known. One
// plan without a play has only its own forecast.
func Plays(in Input, plans []engine.Plan) ([]engine.Plan, *engine.Forecast) {
	plans = slices.Clone(plans)
	all := engine.Forecast{Known: true}
	staged := map[string]bool{}
	begins := in.Now
	for i, p := range plans {
		in.Plan, in.Now = withoutStaging(p, staged), begins.Add(time.Duration(all.Takes))
		f := Make(in)
		if f == nil {
			continue
		}
		if !f.Known {
			all.Without, all.Replanned = append(all.Without, f.Without...), append(all.Replanned, f.Replanned...)
		}
		if all.Known = all.Known && f.Known; all.Known {
			all.Takes, all.Ends = all.Takes+f.Takes, f.Ends
		} else {
			all = engine.Forecast{Without: sortedSet(all.Without), Replanned: sortedSet(all.Replanned)}
			f = &engine.Forecast{Without: slices.Clone(all.Without), Replanned: slices.Clone(all.Replanned)}
		}
		plans[i].Forecast = f
	}
	if all.Known && all.Ends.IsZero() {
		return plans, nil // no play has work
	}
	return plans, &all
}

func sortedSet(hosts []string) []string {
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// withoutStaging returns a plan without the staging of hosts that are staged already, and adds its hosts to them.
func withoutStaging(p engine.Plan, staged map[string]bool) engine.Plan {
	p.Hosts = slices.Clone(p.Hosts)
	for i, hp := range p.Hosts {
		if staged[hp.Host] {
			p.Hosts[i].Stage = nil
		}
		staged[hp.Host] = staged[hp.Host] || len(hp.Stage) > 0
	}
	return p
}

type maker struct {
	Input
	hosts   map[string]*engine.HostPlan
	pools   map[string]engine.Pool
	byPool  map[poolWork][]engine.Duration // medians of hosts
	without map[string]bool
	unknown bool // a pool has no durations either
	stages  bool // a host has something to stage

	replanned []string // hosts whose other work follows in a later plan
	disrupts  bool     // a host is disrupted
}

// work is a kind of work on a host. Reboots of different kinds take different
// times.
type work struct {
	staging bool
	reboot  engine.RebootKind // "": no reboot
}

type poolWork struct {
	pool string
	work
}

// learnPools collects the medians of all hosts of the plan by pool.
func (f *maker) learnPools() {
	f.byPool = map[poolWork][]engine.Duration{}
	for _, hp := range f.Plan.Hosts {
		for _, w := range []work{{staging: true}, {reboot: rebootOf(hp)}} {
			if d, ok := f.ownMedian(hp.Host, w); ok {
				key := poolWork{hp.Pool, w}
				f.byPool[key] = append(f.byPool[key], d)
			}
		}
	}
}

func rebootOf(hp engine.HostPlan) engine.RebootKind {
	if hp.Reboot == nil {
		return ""
	}
	return cmp.Or(hp.Reboot.Kind, engine.FullReboot)
}

func (f *maker) ownMedian(host string, w work) (engine.Duration, bool) {
	var list []engine.Duration
	for _, t := range f.Earlier.Hosts[host] {
		switch {
		case len(list) == kept:
		case w.staging && t.Staging > 0: // it is the same work in every play
			list = append(list, t.Staging)
		case !w.staging && t.Batch > 0 && t.Reboot == w.reboot && t.Play == f.Plan.Play:
			list = append(list, t.Batch)
		}
	}
	return medianOf(list)
}

// durationOf returns how long work on a host takes: as before on this host, or
// else as long as on most hosts of its pool.
func (f *maker) durationOf(hp *engine.HostPlan, w work) engine.Duration {
	if d, ok := f.ownMedian(hp.Host, w); ok {
		return d
	}
	f.without[hp.Host] = true
	d, ok := medianOf(f.byPool[poolWork{hp.Pool, w}])
	f.unknown = f.unknown || !ok
	return d
}

// addStaging returns the duration of all lanes. The next lane begins as soon as
// one of the forks is free.
func (f *maker) addStaging() engine.Duration {
	free := make([]engine.Duration, max(f.Forks, 1))
	for _, lane := range f.Plan.Lanes {
		var takes engine.Duration
		for _, host := range lane.Hosts {
			if hp := f.hosts[host]; hp != nil && len(hp.Stage) > 0 {
				f.stages = true
				takes += f.durationOf(hp, work{staging: true})
			}
		}
		first := 0
		for i, at := range free {
			if at < free[first] {
				first = i
			}
		}
		free[first] += takes
	}
	return slices.Max(free)
}

// addBatch returns the forecast of a batch that the run comes to at now, and
// the time after it. A run does not wait for a window that has closed.
func (f *maker) addBatch(b engine.Batch, now time.Time) (engine.BatchForecast, time.Time) {
	var takes engine.Duration
	disrupted := map[string]bool{} // pools with a host that is disrupted; a batch waits only for their windows
	for _, host := range b.Hosts {
		if hp := f.hosts[host]; hp != nil {
			disrupted[hp.Pool] = disrupted[hp.Pool] || hp.Disruptive()
			f.disrupts = f.disrupts || !hp.NonDisruptive()
			if hp.RestartsFirst {
				f.replanned = append(f.replanned, host)
				continue
			}
			takes = max(takes, f.durationOf(hp, work{reboot: rebootOf(*hp)}))
		}
	}
	begins := now.Add(time.Duration(b.Soak))
	out := engine.BatchForecast{Begins: begins}
	for _, name := range b.Pools {
		p := f.pools[name]
		if ok, opens := window.MayBegin(p.Windows, begins, p.Takes()); !ok && disrupted[name] {
			out.MissesWindow, out.Opens = true, laterOf(out.Opens, opens)
		}
	}
	if out.MissesWindow {
		return out, now
	}
	out.Ends = begins.Add(time.Duration(takes))
	return out, out.Ends
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// medianOf returns the middle of a list, of two the longer one.
func medianOf(list []engine.Duration) (engine.Duration, bool) {
	if len(list) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2], true
}
