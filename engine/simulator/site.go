package simulator

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/simulator/laws"
)

// Site is a world of hosts and etcd clusters. Its methods, and the methods of
// its hosts, are safe for concurrent use.
type Site struct {
	Inventory engine.Inventory
	Labels    map[string]string // version label of each OS, by digest; the default is the digest

	mu         sync.Mutex
	hosts      map[string]*Host
	all        []*Host // in inventory order, as are clusters
	clusters   map[string]*cluster
	etcd       []*cluster
	at         time.Time // time of the state
	laws       *laws.Observer
	kubernetes []*NodeCluster
	due        []happening
	log        []string
	violations []string
	settings   map[string]string // desired settings, by host
}

// happening is a future event of the world.
type happening struct {
	at time.Time
	do func()
}

// New returns a site with the hosts of the inventory. All hosts are up and run
// the OS with that digest, and all clusters are healthy. A host that leaves the site has given up its voter.
func New(inv engine.Inventory, digest string) *Site {
	s := &Site{Inventory: inv, hosts: map[string]*Host{}, clusters: map[string]*cluster{}, settings: map[string]string{}}
	for _, c := range inv.Clusters {
		s.clusters[c.Name] = &cluster{name: c.Name, allowOutage: c.AllowOutage}
		s.etcd = append(s.etcd, s.clusters[c.Name])
	}
	for _, h := range inv.Hosts {
		s.hosts[h.Name] = newHost(s, h, digest)
		s.all = append(s.all, s.hosts[h.Name])
		if c := s.clusters[h.Cluster]; c != nil && !h.Leaving {
			s.hosts[h.Name].data = c.addPeer(s.hosts[h.Name], false).id
		}
	}
	for _, c := range s.clusters {
		c.electLeader(time.Now())
	}
	s.addObserver()
	return s
}

// Host returns the host with that name, which must exist.
func (s *Site) Host(name string) *Host {
	if h := s.hosts[name]; h != nil {
		return h
	}
	panic("simulator: no host " + name)
}

// Hosts returns every host, in inventory order.
func (s *Site) Hosts() []*Host { return slices.Clone(s.all) }

// Want sets the desired setting of a host for runs that begin later.
func (s *Site) Want(host, word string) {
	s.withLock(func(time.Time) { s.settings[host] = word })
}

// Desired returns the desired state of every host.
func (s *Site) Desired() map[string]engine.Desired {
	desired := s.Inventory.Desired()
	s.withLock(func(time.Time) {
		configs := map[string]*resource.Config{} // hosts with the same documents share one
		for host, word := range s.settings {
			if configs[word] == nil {
				config := settingConfig(word)
				configs[word] = &config
			}
			d := desired[host]
			d.Config = configs[word]
			desired[host] = d
		}
	})
	return desired
}

func (s *Site) desiredOf(h *Host) engine.Desired {
	one := s.Inventory
	one.Hosts = []engine.Host{h.host}
	d := one.Desired()[h.Name]
	s.withLock(func(time.Time) {
		if word, ok := s.settings[h.Name]; ok {
			config := settingConfig(word)
			d.Config = &config
		}
	})
	return d
}

// After calls f after that duration. f may call methods of the site's hosts.
func (s *Site) After(d time.Duration, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = append(s.due, happening{time.Now().Add(d), f})
	slices.SortStableFunc(s.due, func(a, b happening) int { return a.at.Compare(b.at) })
}

// Violations returns the broken laws, each with the log until the violation. A
// test expects none under any faults.
func (s *Site) Violations() []string {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Log returns the operations on hosts, in order, one per line.
func (s *Site) Log() []string {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// settle runs all events that are due. The caller must not hold the lock,
// because the events take it.
func (s *Site) settle() {
	for {
		s.mu.Lock()
		if len(s.due) == 0 || s.due[0].at.After(time.Now()) {
			if now := time.Now(); now.After(s.at) { // otherwise the last operation has advanced the site already
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

func (s *Site) advanceTo(now time.Time) {
	s.at = now
	for _, h := range s.all {
		if h.staging != "" || !h.goes.IsZero() || !h.returns.IsZero() || h.probation != nil {
			h.advanceTo(now)
		}
	}
	for _, c := range s.etcd {
		c.electLeader(now)
	}
	for _, k := range s.kubernetes {
		k.advanceTo(now)
	}
}

// withLock runs all events that are due, and calls f with the lock held.
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

func (s *Site) versionLabel(digest string) string {
	if label, ok := s.Labels[digest]; ok {
		return label
	}
	return digest
}
