package hosttest

import (
	"encoding/json"
	"maps"
	"slices"

	"holdfast/engine"
)

// The law about a roll-out that follows another.

// rollOut is a roll-out: the OS that it brings each pool, and the hosts that it
// has begun.
type rollOut struct {
	targets map[string]string
	hosts   map[string]bool
}

// lawUnfinished is asked when a run takes a host to bring it an OS. As long as
// any host has not come to what the last roll-out was to bring, none is brought
// anything else, unless the run was told to. Where nobody is to be seen whom that
// roll-out has begun with, who is to know. A roll-out that is not over goes on
// with the pools that the run brings the same: what it is to bring others, and does
// not, begins nothing.
func (b *Bastion) lawUnfinished(h *Host, members string) {
	var note engine.Rollout
	if json.Unmarshal([]byte("{"+members+"}"), &note) != nil || len(note.Targets) == 0 {
		return
	}
	last, pool := &b.site.rollOut, h.host.Pool
	left := b.knownUnfinished()
	known := slices.ContainsFunc(b.site.all, func(o *Host) bool { return last.hosts[o.Name] && b.followed.reached[o.Name] })
	other := last.targets[pool] != "" && last.targets[pool] != note.Targets[pool]
	if other && len(left) > 0 && known && !b.asked.Over {
		b.reportViolation("%s is begun with %s, and the roll-out of %v is not finished: %v", h.Name, note.Targets[pool], last.targets, left)
	}
	if last.targets == nil || other || b.asked.Over && !maps.Equal(last.targets, note.Targets) || len(b.site.unfinishedHosts()) == 0 {
		b.site.rollOut = rollOut{targets: note.Targets, hosts: map[string]bool{}}
	}
	b.site.rollOut.hosts[h.Name] = true
}

// knownUnfinished names the hosts that the last roll-out has not come to, as far as
// the run could see.
func (b *Bastion) knownUnfinished() []string {
	return slices.DeleteFunc(b.site.unfinishedHosts(), func(name string) bool {
		return wasUnseen(b.site.hosts[name].bootedAt, b.seen[name])
	})
}

// unfinishedHosts names the hosts that do not run what the last roll-out was to bring, but
// for an OS that failed and that nobody asks for any more.
func (s *Site) unfinishedHosts() (names []string) {
	for _, h := range s.all {
		if target := s.rollOut.targets[h.host.Pool]; target != "" && h.booted != target && !s.isAbandoned(h, target) {
			names = append(names, h.Name)
		}
	}
	return names
}

// isAbandoned reports whether a host somewhere was rolled back from an OS that
// the pool of the host is not to run.
func (s *Site) isAbandoned(h *Host, digest string) bool {
	p, _ := s.Inventory.Pool(h.host.Pool)
	return (p.OS == nil || p.OS.Digest() != digest) &&
		slices.ContainsFunc(s.all, func(o *Host) bool { return slices.Contains(o.memory.rejected, digest) })
}

// MayRefuse reports whether a run may be refused because of the last roll-out:
// it is not known to have come to every host, and some pool is to run another OS
// now.
func (s *Site) MayRefuse() bool {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	away := slices.ContainsFunc(s.all, func(h *Host) bool { return !h.up || h.cut || !h.goes.IsZero() || h.lost.Equal(s.at) })
	other := slices.ContainsFunc(s.Inventory.Pools, func(p engine.Pool) bool {
		target := s.rollOut.targets[p.Name]
		return p.OS != nil && target != "" && target != p.OS.Digest()
	})
	return other && (away || len(s.unfinishedHosts()) > 0)
}
