package restore

import (
	"slices"

	"holdfast/engine/etcd/membership"
)

// State is everything that is known about a cluster and its hosts at one
// moment.
type State struct {
	Cluster  string
	Problem  string              // reason why it is not known whether a quorum lives, or ""
	Answers  []membership.Member // as etcd lists them; empty: no member answers
	Hosts    []Host              // of the inventory that name the cluster, in its order
	Snapshot *Source             // named by a person; nil: the freshest data directory
	Lost     []string            // names of hosts and members that a person has called lost for good

	From        string              // host whose data a person has chosen; "": the freshest
	SameCluster bool                // a person has said that the snapshot is of this cluster
	Ancestors   []string            // IDs of members of the clusters that restores have replaced, by their records
	Restored    int64               // highest revision with which a restore has begun, by their records
	Known       []membership.Member // in the snapshots that runs have saved of this cluster
}

// Host is a host of the inventory that names the cluster.
type Host struct {
	Name        string
	Retired     bool
	Unreachable string // reason; "": the host answers, and the fields below are known
	Leaving     bool   // it leaves the site: no run connects to it, so it is unreachable, and nobody knows whether it is gone
	Unmounted   string // mount point of its data that is not mounted; then it is unreachable, too

	HasData     bool
	DataOf      string // ID of the member whose data the host has; "": not known
	DataCluster string // ID of the cluster of the data; "": not known
	Replaced    bool   // the data are of a cluster that an earlier restore has replaced
	Data        Data   // of the host's database
	Unread      string // reason why the database cannot be read
	Running     bool
	Record      membership.Record
	Uncertified string // why it must get certificates before etcd starts there; "": it need not

	Phase Phase  // progress of a restore on this host
	Of    string // identity of the source of that restore

	// Results of this run on the host.
	Checked bool   // the preflight passed
	Failed  string // reason why the preflight failed
	Cleaned bool   // the old data are set aside, and etcd is stopped
}

// Data are the contents of a database that a restore depends on.
type Data struct {
	Revision int64
	Members  []membership.Member
	Removed  []membership.Member // former members, of which only the ID is known
	Time     string              // time of the last write, for people; "": not known

	// Fork distinguishes data that have the same IDs and different contents, as when a cluster was made again with the
	// names, addresses and token of the old one; "": the first ones.
	Fork string
}

// Source is the data for the new cluster.
type Source struct {
	Identity string // of the data, so that an interrupted restore continues only with the same data; "": none
	Host     string // host of the data directory; "": a snapshot
	Path     string // of a snapshot
	Data
}

// Phase is the progress of a restore on a host.
type Phase string

// The phases.
const (
	NoPhase  Phase = ""
	Building Phase = "building" // the new data are incomplete or not checked
	Ready    Phase = "ready"    // the new data are complete and checked, beside the data directory
	Placed   Phase = "placed"   // the new data are the data directory
)

// IsLost reports whether a person has said that a host or member is gone for good.
func (s State) IsLost(name string) bool { return name != "" && slices.Contains(s.Lost, name) }

// mayHaveMember reports whether a reachable host may have a member of the cluster: it has data, the data are not of a
// replaced cluster, and no person has called the host lost.
func (s State) mayHaveMember(h Host) bool {
	return h.Unreachable == "" && h.HasData && !h.Replaced && !s.IsLost(h.Name)
}

// roster is a member list and its origin.
type roster struct {
	from    string
	members []membership.Member
	history string // of the data; "": of a snapshot
}

// listRosters returns the freshest member list of each history whose data a host has. The list of the snapshot does not count
// if a host has data of the same history that are at least as fresh, or data of a cluster that a restore has made since.
func (s State) listRosters() []roster {
	best := map[string]Host{}
	var order []string
	for _, h := range s.Hosts {
		if !s.mayHaveMember(h) || h.Unread != "" {
			continue
		}
		other, known := best[h.History()]
		if !known {
			order = append(order, h.History())
		}
		if !known || h.Data.Revision > other.Data.Revision {
			best[h.History()] = h
		}
	}
	var list []roster
	fresher := false
	for _, history := range order {
		h := best[history]
		list = append(list, roster{"the data of " + h.Name, h.Data.Members, history})
		fresher = fresher || s.Snapshot != nil && s.isFresher(h, *s.Snapshot)
	}
	if s.Snapshot != nil && !fresher {
		list = append(list, roster{"the snapshot", s.Snapshot.Members, ""})
	}
	return list
}

// isFresher reports whether the data of a host supersede a snapshot.
func (s State) isFresher(h Host, snapshot Source) bool {
	if sharesMember(h.Data.Members, snapshot.Members) {
		return h.Data.Revision >= snapshot.Revision
	}
	return s.hasAncestor(snapshot.Members) && !s.hasAncestor(h.Data.Members)
}

func (s State) quorumLives() bool { return membership.CountVoters(s.Answers).QuorumLives() }
