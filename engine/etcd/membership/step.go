package membership

// Step is one step of a change of membership.
type Step struct {
	Action Action `json:"action"`
	Host   string `json:"host,omitempty"`   // where the step happens, or whose member it is about
	Member string `json:"member,omitempty"` // ID of the member, if etcd lists it already
	Reason string `json:"reason,omitempty"`
}

// Action is the kind of a step.
type Action string

// The actions. Done means that the cluster has the members that it should have.
const (
	Done       Action = ""
	Preflight  Action = "preflight"   // checks a host that is to get a member: disk, clock, ports
	Snapshot   Action = "snapshot"    // saves the cluster to the bastion
	Create     Action = "create"      // starts a new cluster of one voter on a host
	AddLearner Action = "add learner" // records it on the host, and adds a learner for it
	Start      Action = "start"       // starts etcd of a member that is listed
	Await      Action = "await"       // waits until a learner has caught up
	Promote    Action = "promote"     // makes a learner vote
	MoveLeader Action = "move leader" // makes another voter lead
	Remove     Action = "remove"      // records it on the host, and removes its member
	SetAside   Action = "set aside"   // stops etcd, renames its data directory, and removes the record
	Forget     Action = "forget"      // removes the record of a change that is complete
)

// ChangesMembership reports whether the step changes the member list of a cluster that exists.
func (a Action) ChangesMembership() bool {
	return a == AddLearner || a == Promote || a == Remove
}
