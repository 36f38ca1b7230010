package simulator

import (
	"encoding/json"
	"maps"
	"slices"

	"holdfast/engine"
)

// The law about a roll-out that follows another.

// rollOut has the OS that a roll-out brings to each pool, and the hosts it has begun.
type rollOut struct {
	targets map[string]string
	hosts   map[string]bool
}

// lawUnfinished checks that no other OS begins while a host has not got the OS of the last
// roll-out, unless the run may continue over that. If the run could reach no host of that roll-out,
// it could not know about it. Pools whose OS stays the same continue the roll-out.
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

func (b *Bastion) knownUnfinished() []string {
	return slices.DeleteFunc(b.site.unfinishedHosts(), func(name string) bool {
		return wasUnseen(b.site.hosts[name].bootedAt, b.seen[name])
	})
}

// unfinishedHosts ignores an OS that failed and that no pool asks for any more.
func (s *Site) unfinishedHosts() (names []string) {
	for _, h := range s.all {
		if target := s.rollOut.targets[h.host.Pool]; target != "" && h.booted != target && !s.isAbandoned(h, target) {
			names = append(names, h.Name)
		}
	}
	return names
}

func (s *Site) isAbandoned(h *Host, digest string) bool {
	p, _ := s.Inventory.Pool(h.host.Pool)
	return (p.OS == nil || p.OS.Digest() != digest) &&
		slices.ContainsFunc(s.all, func(o *Host) bool { return slices.Contains(o.memory.rejected, digest) })
}

// MayRefuse reports whether a run may refuse to start: the last roll-out is not known to be
// finished, and some pool asks for another OS.
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
