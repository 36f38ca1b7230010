package membership

import (
	"slices"
	"strings"
)

// MemberStep is one step of a change of membership.
type MemberStep struct {
	Action MemberAction `json:"action"`
	Host   string       `json:"host,omitempty"`   // that the step changes, or whose member it changes
	Member string       `json:"member,omitempty"` // ID of the member, if etcd lists it already
	Reason string       `json:"reason,omitempty"`
}

// MemberAction is the kind of a step.
type MemberAction string

// The actions. Done means that the cluster has the wanted members.
const (
	Done       MemberAction = ""
	Preflight  MemberAction = "preflight"          // checks a host that should get a member: disk, clock, ports
	Snapshot   MemberAction = "snapshot"           // saves the cluster to the bastion
	Issue      MemberAction = "issue-certificates" // makes keys on a host, and signs certificates for them
	TrustCA    MemberAction = "trust-ca"           // lets a host trust another CA, too, and restarts its etcd
	DropCA     MemberAction = "drop-ca"            // lets a host trust only the wanted CAs, and restarts its etcd
	Create     MemberAction = "create"             // starts a new cluster of one voter on a host
	AddLearner MemberAction = "add-learner"        // writes a record on the host, and adds a learner for it
	Start      MemberAction = "start"              // starts etcd of a member that is listed
	Await      MemberAction = "await"              // waits until a learner has caught up
	Promote    MemberAction = "promote"            // makes a learner a voter
	MoveLeader MemberAction = "move-leader"        // makes another voter the leader
	Remove     MemberAction = "remove"             // writes a record on the host, and removes its member
	SetAside   MemberAction = "set-aside"          // stops etcd, renames its data directory, and removes the record
	Configure  MemberAction = "configure"          // writes the settings of etcd on a host, and restarts its etcd
	RunHook    MemberAction = "run-hook"           // runs the command that tells the clients about the voters
	Forget     MemberAction = "forget"             // removes the record of a change that is complete
)

// String returns the action as people read it, and as steps are named in events: trust CA.
func (a MemberAction) String() string {
	return strings.ReplaceAll(strings.ReplaceAll(string(a), "-", " "), " ca", " CA")
}

// RestartsEtcd reports whether the step restarts a voter.
func (a MemberAction) RestartsEtcd() bool { return a.changesTrust() || a == Configure }

func (a MemberAction) changesTrust() bool { return a == TrustCA || a == DropCA }

// ChangesVoters reports whether clients need other URLs after the step.
func (s MemberStep) ChangesVoters() bool {
	return s.Action == Create || s.Action == Promote || s.Action == Remove || s.Action == Start && s.Member == ""
}

// HasChangedVoters reports whether a host has the record of a change that has changed the voters, but is not complete.
func (s State) HasChangedVoters() bool {
	return s.Problem == "" && slices.ContainsFunc(s.Hosts, func(h Host) bool {
		m, listed := s.findMember(h.Name)
		switch h.Record {
		case Creating, Adding, Restoring:
			return listed && !m.Learner
		case Removing:
			return !listed && len(s.Members) > 0
		case NoRecord:
		}
		return false
	})
}

// ChangesMembership reports whether the step changes the member list of a cluster that exists.
func (a MemberAction) ChangesMembership() bool {
	return a == AddLearner || a == Promote || a == Remove
}
