package membership

import (
	"slices"

	"holdfast/engine/etcd/carotation"
)

// State is the state of one cluster and of its hosts at one moment.
type State struct {
	Cluster string
	Problem string   // why the members are not known; "": they are
	Members []Member // as etcd lists them; none: no host has a member that answers
	Hosts   []Host   // hosts of the inventory that name the cluster, in the order of the inventory
	Alarms  []string

	// Named has the IDs of members that a person wants removed, dead or alive.
	Named []string

	// Saved is true if this run took a snapshot, or if the site wants none.
	Saved bool

	// HasHook is true if a command tells the clients about each change of the voters. HookDue is true if it has not succeeded
	// since the last change.
	HasHook, HookDue bool

	// CA issues the certificates of the members; "": holdfast issues none.
	CA carotation.CA

	// AlsoTrusted has other CAs that members must trust.
	AlsoTrusted []carotation.CA

	// KeepsOldCAs is true if members trust a replaced CA until ClientsDone has it: clients may have certificates
	// from it, and nobody but a person knows.
	KeepsOldCAs bool
	ClientsDone []carotation.CA

	// CANames has the subjects of CAs, as people know them.
	CANames map[carotation.CA]string

	// Version is the cluster version of etcd, or the oldest version of a member if that is not known; "": neither is known.
	Version string

	// AnyVersion is true if a host may get a member although its etcd does not fit to Version.
	AnyVersion bool

	// AllowOutage is true if the cluster may lose its quorum while a member restarts.
	AllowOutage bool
}

// Member is one member as etcd lists it, with its health.
type Member struct {
	ID       string // hexadecimal
	Name     string // "": it was added and has never started
	Host     string // of the inventory; "": none
	Learner  bool
	Leader   bool
	Healthy  bool   // a voter: answers a linearizable read and has caught up; a learner: answers
	CaughtUp bool   // a learner that may be promoted
	Problem  string // why it is not healthy
	Database int64  // bytes of its database; 0: not known

	isForecast bool // etcd does not list it: a forecast has added it
}

// DisplayName returns the name of the member, or its ID if it has none.
func (m Member) DisplayName() string {
	if m.Name == "" {
		return m.ID
	}
	return m.Name
}

// Host is a host of the inventory that names the cluster.
type Host struct {
	Name        string
	Retired     bool   // its voter must be removed; other hosts should have a voter
	Unreachable string // why; "": it answers, and the fields below are known
	Leaving     bool   // it leaves the site: no run connects to it, so it is unreachable, and nobody knows whether it is gone
	HasData     bool   // there is a data directory of etcd
	DataOf      string // ID of the member whose data it has; "": not known
	Replaced    bool   // its data are of a cluster that a restore has replaced by this one
	Running     bool   // the service of etcd runs
	Record      Record // change that a run began on the host; "": none
	Etcd        string // version of its etcd, if it has no data; "": not known

	Certificates Certificates
	Settings     Settings

	// Checked is true if the preflight of this run passed. Failed is the reason why this run cannot add a member on the host:
	// the preflight failed, or the learner did not catch up in time.
	Checked bool
	Failed  string
}

// AdviceForLeaving is the next step for a member on a host that leaves the site. It offers no removal: nobody knows whether the
// member is dead.
const AdviceForLeaving = "remove leaving = true from it in the inventory, or remove the whole host if its machine is deleted"

// Settings has the differences between the settings of etcd on a host with a member and those of the inventory.
type Settings struct {
	Change string // differences that a restart with other settings removes; "": none
	Clash  string // why no member may have the wanted settings now; "": they may
	Fixed  string // differences that only a new member removes; "": none
	Unread bool   // a run ended early, and perhaps before it restarted etcd
}

// Record is a note on a host that a run writes before it changes the membership of the host, and removes afterwards.
// It tells the next run, from any bastion, which member a killed run left behind.
type Record string

// The records.
const (
	NoRecord Record = ""
	Creating Record = "creating" // the first member of a new cluster
	Adding   Record = "adding"   // a learner, until it votes
	Removing Record = "removing" // its member, until its data are set aside

	// Restoring is the record of the host on which the new cluster of a restore begins (package restore).
	Restoring Record = "restoring"
)

// IsValid reports whether a run may have written the record.
func (r Record) IsValid() bool {
	return r == NoRecord || r == Creating || r == Adding || r == Removing || r == Restoring
}

func (s State) findHost(name string) (Host, bool) {
	i := slices.IndexFunc(s.Hosts, func(h Host) bool { return h.Name == name })
	if i < 0 || name == "" {
		return Host{}, false
	}
	return s.Hosts[i], true
}

func (s State) findMember(host string) (Member, bool) {
	i := slices.IndexFunc(s.Members, func(m Member) bool { return m.Host == host })
	if i < 0 || host == "" {
		return Member{}, false
	}
	return s.Members[i], true
}

func (s State) listVoters() []Member {
	return slices.DeleteFunc(slices.Clone(s.Members), func(m Member) bool { return m.Learner })
}

func (s State) listLearners() []Member {
	return slices.DeleteFunc(slices.Clone(s.Members), func(m Member) bool { return !m.Learner })
}

func (s State) countVoters() Count { return CountVoters(s.Members) }

func (s State) isNamed(m Member) bool { return slices.Contains(s.Named, m.ID) }

// isWanted reports whether the host of the member should have a voter.
func (s State) isWanted(m Member) bool {
	h, ok := s.findHost(m.Host)
	return ok && !h.Retired
}

// isLeaving reports whether the member must be removed: its host is retired, or a person has named it.
func (s State) isLeaving(m Member) bool {
	h, ok := s.findHost(m.Host)
	return s.isNamed(m) || ok && h.Retired
}

// isDead reports whether the member will never come back: a person has named it, or its host answers and does not have
// its data. A host that does not answer proves nothing: its member may be alive, and only the network interrupted.
func (s State) isDead(m Member) bool {
	if m.Healthy {
		return false
	}
	if s.isNamed(m) {
		return true
	}
	h, ok := s.findHost(m.Host)
	if !ok || h.Unreachable != "" || m.Name == "" {
		return false
	}
	return !h.HasData || h.DataOf != "" && h.DataOf != m.ID
}
