package laws

import (
	"maps"
	"slices"

	"holdfast/engine"
)

// This file has the law about a roll-out that follows another.

// rollOut has the OS that a roll-out brings to each pool, and the hosts that it
// has begun.
type rollOut struct {
	targets map[string]string
	hosts   map[string]bool
}

// CheckUnfinished checks that no other OS begins while a host does not have the
// OS of the last roll-out, unless the run may continue over an unfinished
// roll-out. A run that could reach no host of the last roll-out could not know
// about it. A pool whose OS stays the same continues the roll-out.
func (r *Run) CheckUnfinished(h *Host, targets map[string]string) {
	last, pool := &r.observer.rollOut, h.Pool
	left := r.knownUnfinished()
	known := slices.ContainsFunc(r.observer.Hosts, func(o *Host) bool { return last.hosts[o.Name] && r.followed.reached[o.Name] })
	other := last.targets[pool] != "" && last.targets[pool] != targets[pool]
	if other && len(left) > 0 && known && !r.asked.Over {
		r.reportViolation("%s is begun with %s, and the roll-out of %v is not finished: %v", h.Name, targets[pool], last.targets, left)
	}
	anew := (r.asked.Over || !known) && !maps.Equal(last.targets, targets) // it records a roll-out of its own
	if last.targets == nil || other || anew || len(r.observer.unfinishedHosts()) == 0 {
		r.observer.rollOut = rollOut{targets: targets, hosts: map[string]bool{}}
	}
	r.observer.rollOut.hosts[h.Name] = true
}

func (r *Run) knownUnfinished() (names []string) {
	for _, h := range r.observer.unfinishedHosts() {
		if !wasUnseen(h.BootedAt, r.seen[h.Name]) {
			names = append(names, h.Name)
		}
	}
	return names
}

// unfinishedHosts returns the hosts without the OS of the last roll-out. It
// ignores an OS that failed and that the inventory no longer has for the pool.
func (w *Observer) unfinishedHosts() (hosts []*Host) {
	abandoned := map[string]bool{} // by pool
	for _, h := range w.Hosts {
		target := w.rollOut.targets[h.Pool]
		if target == "" || h.Booted == target {
			continue
		}
		over, judged := abandoned[h.Pool]
		if !judged {
			over = w.isAbandoned(h, target)
			abandoned[h.Pool] = over
		}
		if !over {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

func (w *Observer) isAbandoned(h *Host, digest string) bool {
	p := w.poolOf(h)
	return (p.OS == nil || p.OS.Digest() != digest) &&
		slices.ContainsFunc(w.Hosts, func(o *Host) bool { return slices.Contains(o.Rejected, digest) })
}

// MayRefuse reports whether a run may refuse to start: the last roll-out may be
// unfinished, and some pool has another desired OS.
func (w *Observer) MayRefuse() bool {
	away := slices.ContainsFunc(w.Hosts, func(h *Host) bool { return !h.Up || h.Cut || h.GoesDown || h.Lost.Equal(w.Now) })
	other := slices.ContainsFunc(w.Inventory.Pools, func(p engine.Pool) bool {
		target := w.rollOut.targets[p.Name]
		return p.OS != nil && target != "" && target != p.OS.Digest()
	})
	return other && (away || len(w.unfinishedHosts()) > 0)
}
