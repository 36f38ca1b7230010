package hosttest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"holdfast/engine"
)

// Site is a world of hosts and etcd clusters. All its methods, and those of
// its hosts, may be called from several goroutines.
type Site struct {
	Inventory engine.Inventory
	Labels    map[string]string // what each OS says of itself, by digest; without one it is the digest

	mu         sync.Mutex
	hosts      map[string]*Host
	all        []*Host // in the order of the inventory, as are clusters
	clusters   map[string]*cluster
	etcd       []*cluster
	at         time.Time // the world is as it is then
	bastions   []*Bastion
	due        []happening
	log        []string
	violations []string
	settings   map[string]string // wanted, by host
	rollOut    rollOut           // the last that has begun
}

// happening is something the world does by itself at some time.
type happening struct {
	at time.Time
	do func()
}

// New makes a site of the inventory's hosts. All are up, run the OS of that
// digest, and lead healthy clusters.
func New(inv engine.Inventory, digest string) *Site {
	s := &Site{Inventory: inv, hosts: map[string]*Host{}, clusters: map[string]*cluster{}, settings: map[string]string{}}
	for _, c := range inv.Clusters {
		s.clusters[c.Name] = &cluster{name: c.Name, allowOutage: c.AllowOutage}
		s.etcd = append(s.etcd, s.clusters[c.Name])
	}
	for _, h := range inv.Hosts {
		s.hosts[h.Name] = newHost(s, h, digest)
		s.all = append(s.all, s.hosts[h.Name])
		if c := s.clusters[h.Cluster]; c != nil {
			c.members = append(c.members, s.hosts[h.Name])
		}
	}
	for _, c := range s.clusters {
		c.electLeader(time.Now())
	}
	return s
}

// Host returns the host of that name; there must be one.
func (s *Site) Host(name string) *Host {
	if h := s.hosts[name]; h != nil {
		return h
	}
	panic("hosttest: no host " + name)
}

// Hosts returns every host, in inventory order.
func (s *Site) Hosts() []*Host { return slices.Clone(s.all) }

// Want makes runs that begin from now on want that setting of a host.
func (s *Site) Want(host, word string) {
	s.withLock(func(time.Time) { s.settings[host] = word })
}

// Desired is what every host is to be.
func (s *Site) Desired() map[string]engine.Desired {
	desired := s.Inventory.Desired()
	s.withLock(func(time.Time) {
		for host, word := range s.settings {
			d, config := desired[host], Setting(word)
			d.Config = &config
			desired[host] = d
		}
	})
	return desired
}

// desiredOf is what a host is to be.
func (s *Site) desiredOf(h *Host) engine.Desired {
	one := s.Inventory
	one.Hosts = []engine.Host{h.host}
	d := one.Desired()[h.Name]
	s.withLock(func(time.Time) {
		if word, ok := s.settings[h.Name]; ok {
			config := Setting(word)
			d.Config = &config
		}
	})
	return d
}

// After lets f happen when that much time has passed. It may use the methods
// of the site's hosts.
func (s *Site) After(d time.Duration, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = append(s.due, happening{time.Now().Add(d), f})
	slices.SortStableFunc(s.due, func(a, b happening) int { return a.at.Compare(b.at) })
}

// Violations lists the laws that were broken, each with what had happened
// until then. There ought to be none, whatever the test does to the site.
func (s *Site) Violations() []string {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Log is what was done to the hosts, in order, a line each.
func (s *Site) Log() []string {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// settle lets everything happen that is due. It may not be called with the
// lock held, because what happens takes it.
func (s *Site) settle() {
	for {
		s.mu.Lock()
		if len(s.due) == 0 || s.due[0].at.After(time.Now()) {
			if now := time.Now(); now.After(s.at) { // else it is as the last deed has left it
				s.advanceTo(now)
			}
			s.mu.Unlock()
			return
		}
		next := s.due[0]
		s.due = s.due[1:]
		s.advanceTo(next.at)
		s.mu.Unlock()
		next.do()
	}
}

// advanceTo brings hosts and clusters to that time.
func (s *Site) advanceTo(now time.Time) {
	s.at = now
	for _, h := range s.all {
		if h.staging != "" || !h.goes.IsZero() || !h.returns.IsZero() {
			h.advanceTo(now)
		}
	}
	for _, c := range s.etcd {
		c.electLeader(now)
	}
}

// withLock calls f with the lock held and the world up to date.
func (s *Site) withLock(f func(now time.Time)) {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	f(now)
	s.advanceTo(now)
}

func (s *Site) addToLog(format string, args ...any) {
	s.log = append(s.log, time.Now().UTC().Format("02 15:04:05.000000000 ")+fmt.Sprintf(format, args...))
}
