package laws

import (
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
)

// World is a site at one moment.
type World struct {
	Inventory engine.Inventory
	Labels    map[string]string // version label of an OS, by digest; the default is the digest
	Hosts     []*Host           // in inventory order, as are Clusters
	Clusters  []*Cluster
	Nodes     []*Node
	Now       time.Time
}

// Observer checks the laws on one site. The site updates World, and calls the
// methods of the observer and of its runs one at a time.
type Observer struct {
	World

	report  func(violation string)
	broken  bool
	runs    []*Run
	rollOut rollOut // the last roll-out
}

// NewObserver returns an observer that reports each broken law.
func NewObserver(report func(violation string)) *Observer { return &Observer{report: report} }

// Host is a host, with the observer's records about it.
type Host struct {
	engine.Host // as at the start of the simulation
	State

	// LacksUnits reports whether an enabled unit that ran when the hold was
	// taken does not run now.
	LacksUnits func() bool

	RunsOn bool // its etcd member does not stop in the reboot that is ordered

	before      *unitsBefore   // state of the units before the first disruption, until a run sees the host whole again
	disruptedBy string         // ID of the run that disrupted the host, until the host is completely back
	disruptedAt time.Time      // time of that disruption
	wasNotReady bool           // its node was not Ready then
	orderedBy   *Run           // the run that ordered the host to boot a staged OS
	reboot      orderedReboot  // the last reboot that a run ordered and that was no rollback
	rolledBack  []string       // OS versions that the host was ordered to leave again
	fallbacks   map[string]int // number of reboots in place of an action, by the word that is not yet on record
}

// State is the state of a host at one moment.
type State struct {
	Up       bool
	Cut      bool      // bastions cannot reach it
	GoesDown bool      // the host was ordered to reboot, and is still up
	Returns  bool      // the host is booting
	Lost     time.Time // when the host last became unavailable

	Booted   string    // digest of the booted OS
	BootedAt time.Time // when the host first ran that OS; zero: since the start
	Staged   string    // digest of the staged OS
	StagedBy string    // ID of the run that is staging an OS
	Reboots  int       // number of ordered reboots
	Rejected []string  // digests of the rejected OS versions

	Hold     *engine.Hold
	Garbled  bool // the hold cannot be read
	Freed    bool // a person removed the last hold
	Drained  bool
	Units    []string // units that run
	Failed   []string // units that have failed
	Stale    bool     // its etcd member has run on during a soft reboot for a setting, and must restart
	MemberOS string   // digest of the OS that the process of its etcd member runs from; "": it does not run
	Healthy  bool     // its etcd member is healthy, or it is up and has none
	Unclear  bool     // the state of the host is not understood

	CanSoft, CanKexec bool // kinds of reboot, beside the full one, that the host can carry out

	Setting Setting

	LockedOut bool   // new logins fail
	Probation bool   // the host undoes its setting unless a new login works
	ProbedBy  string // ID of the run that has written that setting
	ProvedBy  string // ID of the run whose new login has confirmed the last setting
}

// Setting is the state of the setting of a host.
type Setting struct {
	Wanted  *string // nil: the inventory has no setting for the host
	Login   bool    // that setting may prevent logins
	Disk    string
	Effect  string
	Record  *string   // setting on record; nil: none, or a write is not finished
	Pending string    // setting whose write is not finished
	Failed  string    // action that failed
	Edited  time.Time // when a person last changed the setting
}

func (s Setting) isRecorded(word string) bool { return s.Record != nil && *s.Record == word }

// Cluster is an etcd cluster.
type Cluster struct {
	Name        string
	AllowOutage bool
	Members     []*Host // that vote
	Learner     *Host
	Added       time.Time // when the learner was added
	Leader      *Host
	Elected     time.Time // when the members last chose a leader by themselves
}

func (c *Cluster) quorum() int { return len(c.Members)/2 + 1 }

func (r *Run) reportViolation(format string, args ...any) {
	r.observer.broken = true
	r.observer.report(fmt.Sprintf("run %s: ", r.ID) + fmt.Sprintf(format, args...))
}

func (w *Observer) findHost(name string) *Host {
	if i := slices.IndexFunc(w.Hosts, func(h *Host) bool { return h.Name == name }); i >= 0 {
		return w.Hosts[i]
	}
	return nil
}

func (w *Observer) findCluster(h *Host) *Cluster {
	if i := slices.IndexFunc(w.Clusters, func(c *Cluster) bool { return c.Name == h.Cluster }); i >= 0 {
		return w.Clusters[i]
	}
	return nil
}

func (w *Observer) poolOf(h *Host) engine.Pool {
	p, _ := w.Inventory.Pool(h.Pool)
	return p
}

func (w *Observer) poolSize(pool string) int {
	n := 0
	for _, h := range w.Hosts {
		if h.Pool == pool {
			n++
		}
	}
	return n
}

func (w *Observer) siteBudget() (n int, ok bool) {
	l := w.Inventory.MaxUnavailable
	return l.Of(len(w.Hosts)), l.Set
}

func (w *Observer) matchesDesired(h *Host) bool { return w.runsDesiredOS(h) && w.hasDesiredSetting(h) }

func (w *Observer) runsDesiredOS(h *Host) bool {
	p := w.poolOf(h)
	return p.OS == nil || h.Booted == p.OS.Digest()
}

func (w *Observer) hasDesiredSetting(h *Host) bool {
	s := h.Setting
	if s.Wanted == nil {
		return true
	}
	word := *s.Wanted
	return s.isRecorded(word) && (s.Disk == word && s.Effect == word || w.poolOf(h).Drift == engine.ReportDrift)
}

func (h *Host) isWell() bool { return h.Up && (h.Cluster == "" || h.Healthy) }

func (h *Host) isHeld() bool { return h.Hold != nil || h.Garbled }

func (h *Host) isHeldByOther(run string) bool {
	return h.Garbled || h.Hold != nil && (h.Hold.Run != run || run == "")
}
