package simulator

import (
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator/laws"
)

// observe returns the observer of the laws, with the current state of the site.
// The caller holds the lock.
func (s *Site) observe() *laws.Observer {
	now := time.Now()
	s.laws.Inventory, s.laws.Labels, s.laws.Now = s.Inventory, s.Labels, now
	s.laws.Hosts = s.laws.Hosts[:0]
	leaving := s.anyLeaves()
	for _, h := range s.all {
		h.observeInto(&h.law.State, now)
		if !leaving || !s.isLeaving(h.Name) {
			s.laws.Hosts = append(s.laws.Hosts, &h.law)
		}
	}
	for i, c := range s.etcd {
		seen := s.laws.Clusters[i]
		seen.Leader, seen.Elected = nil, c.elected
		if c.leader != nil {
			seen.Leader = &c.leader.law
		}
		c.observeInto(seen)
	}
	for _, k := range s.kubernetes {
		k.observeInto(s.laws.Nodes, now)
	}
	return s.laws
}

// isLeaving reports whether the host is being deleted. No law counts it, and no run may
// touch it.
func (s *Site) isLeaving(host string) bool {
	h, _ := s.Inventory.Host(host)
	return h.Leaving
}

func (s *Site) anyLeaves() bool {
	return slices.ContainsFunc(s.Inventory.Hosts, func(h engine.Host) bool { return h.Leaving })
}

// law returns the run as the observer knows it, with the current state of the
// site. The caller holds the lock of the site.
func (b *Bastion) law() *laws.Run {
	b.site.observe()
	return b.observed
}

// lawNotes returns the same as law, but updates only the time, and not the hosts
// and clusters. Use it where the observer only records when the run did
// something. A run of a thousand hosts records so much that an update of all
// hosts for each record would take most of the time.
func (b *Bastion) lawNotes() *laws.Run {
	b.site.laws.Now = time.Now()
	return b.observed
}

func (s *Site) addObserver() {
	s.laws = laws.NewObserver(func(violation string) {
		s.addToLog("BROKEN: %s", violation)
		s.violations = append(s.violations, violation+"\n  "+strings.Join(s.log, "\n  "))
	})
	for _, h := range s.all {
		h.law = laws.Host{Host: h.host, LacksUnits: h.lacksUnits}
		s.laws.Hosts = append(s.laws.Hosts, &h.law)
	}
	for _, c := range s.etcd {
		seen := &laws.Cluster{Name: c.name, AllowOutage: c.allowOutage}
		s.laws.Clusters = append(s.laws.Clusters, seen)
	}
}

// observeInto sets all fields of an existing state, and makes no new one, because
// it runs for every host at each check of a law.
func (h *Host) observeInto(s *laws.State, now time.Time) {
	s.Up, s.Cut, s.GoesDown, s.Returns, s.Lost = h.up, h.cut, !h.goes.IsZero(), !h.returns.IsZero(), h.lost
	s.Booted, s.BootedAt, s.Staged, s.Reboots, s.Rejected = h.booted, h.bootedAt, h.staged, len(h.reboots), h.memory.rejected
	s.Hold, s.Garbled, s.Freed, s.Drained = h.hold, h.garbage != "", h.freed, h.drained
	s.Failed, s.MemberOS, s.Stale = h.failed, "", false
	if h.etcd && (h.up || h.runsOn) {
		s.MemberOS, s.Stale = h.memberOS, h.stale
	}
	s.Units, s.Healthy, s.Unclear = h.units, h.hasHealthyMember(now) || h.up && h.member == nil, h.traits.Unclear != ""
	h.setting.observeInto(&s.Setting)
	s.CanSoft, s.CanKexec = h.traits.canSoftReboot(), h.traits.KexecKind
	s.LockedOut, s.Probation, s.ProbedBy = locksOut(h.setting.disk), h.probation != nil, ""
	s.ProvedBy = h.proved
	if h.probation != nil {
		s.ProbedBy = h.probation.run
	}
	s.Setting.Wanted, s.Setting.Login, s.StagedBy = nil, false, ""
	if word, ok := h.site.settings[h.Name]; ok {
		wanted := word // a copy of its own, so that word does not use the heap for hosts without a setting
		s.Setting.Wanted, s.Setting.Login = &wanted, touchesLogin(word)
	}
	if h.staging != "" && h.stager != nil {
		s.StagedBy = h.stager.ID
	}
}

func (s *setting) observeInto(seen *laws.Setting) {
	seen.Disk, seen.Effect, seen.Edited = s.disk, s.effect, s.edited
	seen.Record, seen.Pending, seen.Failed = nil, "", ""
	switch {
	case s.applied == nil:
	case s.applied.Unfinished != nil:
		seen.Pending, seen.Failed = wordOf(s.applied.Unfinished.Config), s.applied.Unfinished.FailedAction
	default:
		word := wordOf(s.applied.Config)
		seen.Record = &word
	}
}

func (o settingOrder) observed(quiet bool) laws.SettingOrder {
	seen := laws.SettingOrder{Action: o.Action, Quiet: quiet}
	if o.Before != nil {
		seen.Word = wordOf(o.Before.Unfinished.Config)
		seen.Takes = actionsOf(seen.Word)
		seen.Login, seen.Probation = touchesLogin(seen.Word) && seen.Word != o.Was, o.Proof
	}
	return seen
}

func askedOf(r *rollout.Run) *laws.Asked {
	a := &laws.Asked{Over: r.OverIncomplete, Retry: r.Retry, Orders: map[string]engine.Order{}}
	for _, p := range r.Inventory.Pools {
		a.Orders[p.Name] = p.Order
	}
	return a
}

// TooFar reports whether max_skew keeps the host from its desired OS, or a host of
// a pool that must be updated before.
func (s *Site) TooFar(host string) (far bool) {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.isLeaving(host) && s.observe().TooFar(host)
}

// MayRefuse reports whether a run may refuse to start: the last roll-out may be
// unfinished, and some pool has another desired OS.
func (s *Site) MayRefuse() bool {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.observe().MayRefuse()
}
