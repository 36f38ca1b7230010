package kubefacts

import (
	"fmt"
	"time"
)

// Node is one node of a cluster.
type Node struct {
	Name           string
	UID            string
	Addresses      []string  // addresses and host names that the node reports
	Ready          bool      // its condition Ready is True
	NotReady       string    // why it is not Ready
	HeartbeatAt    time.Time // when its kubelet last reported whether it is Ready, by the clock of the host; zero: not known
	Cordoned       bool      // spec.unschedulable
	CordonedBy     string    // run of holdfast that has cordoned it; "": none
	CordonMerged   bool      // a run may have cordoned it, but the API no longer tells who was the last to do so
	Taints         []Taint
	BootID         string // boot of the kernel when the node last reported it, without soft reboots
	KubeletVersion string
	Deleted        bool // the Node object is being deleted
	Gone           bool // no node has the name; the other fields are not known
}

// DescribeCordon returns why a run does not uncordon the node, as the end of a sentence.
func (n Node) DescribeCordon() string {
	if n.CordonMerged {
		return "holdfast cannot tell who cordoned it; if nobody else did, use: kubectl uncordon " + n.Name
	}
	return "somebody else has cordoned it"
}

// Taint is a taint of a node.
type Taint struct {
	Key    string
	Value  string
	Effect string
}

// Absence is a reason why a node takes no work.
type Absence string

// The absences. A node has the first of them that applies.
const (
	Present       Absence = ""               // the node takes work
	BeingDeleted  Absence = "being-deleted"  // its Node object is being deleted
	Leased        Absence = "leased"         // another tool has its lease; the leases of runs do not count, because their hosts are held
	InMaintenance Absence = "in-maintenance" // a NodeMaintenance names it
	NotReady      Absence = "not-ready"      // its kubelet does not report that it is ready
	Cordoned      Absence = "cordoned"       // somebody has marked it unschedulable
)

// IsForeign reports whether somebody else has the node, so that a run must leave it alone.
func (a Absence) IsForeign() bool { return a == Leased || a == InMaintenance }

// KeepsPods reports whether the pods of the node still run, so that a disruption of its host is felt: the node only takes no
// new ones.
func (a Absence) KeepsPods() bool { return a == Cordoned || a == BeingDeleted }

// Describe continues a sentence that begins with the host: "is cordoned".
func (a Absence) Describe() string {
	switch a {
	case Present:
	case BeingDeleted:
		return "is being deleted as a node"
	case Leased:
		return "is leased by another tool"
	case InMaintenance:
		return "is in maintenance as a node"
	case NotReady:
		return "is not Ready as a node"
	case Cordoned:
		return "is cordoned as a node"
	}
	return ""
}

// NodeState is the state of the node of a host.
type NodeState struct {
	Kubernetes string `json:"kubernetes"`         // Kubernetes cluster of the inventory
	Node       string `json:"node,omitempty"`     // name of the node; "": not known
	Problem    string `json:"problem,omitempty"`  // why the node of the host is not known
	APIAway    bool   `json:"api_away,omitempty"` // that is because the API does not tell its nodes
	MayRun     bool   `json:"-"`                  // and the API may run all the same: the kubeconfig or the rights are wrong

	Absence        Absence `json:"absence,omitempty"`     // why the node takes no work; "": it does
	Text           string  `json:"text,omitempty"`        // the absence, in words
	CordonedBy     string  `json:"cordoned_by,omitempty"` // run that has cordoned it; "": none
	BootID         string  `json:"boot_id,omitempty"`     // boot that the node reports
	KubeletVersion string  `json:"kubelet_version,omitempty"`
}

// stateOf returns the state of a node at that time.
func (c ClusterFacts) stateOf(n Node, now time.Time) NodeState {
	s := NodeState{Kubernetes: c.Name, Node: n.Name, CordonedBy: n.CordonedBy, BootID: n.BootID, KubeletVersion: n.KubeletVersion}
	s.Absence, s.Text = c.absenceOf(n, now)
	return s
}

func (c ClusterFacts) absenceOf(n Node, now time.Time) (Absence, string) {
	if n.Deleted {
		return BeingDeleted, "its node is being deleted"
	}
	for _, l := range c.Leases {
		if l.Node == n.Name && l.IsValid(now.Add(c.ClockAhead)) && !l.IsOwn() {
			return Leased, fmt.Sprintf("%s has the lease of its node", l.Holder)
		}
	}
	for _, m := range c.Maintenances {
		if m.Node == n.Name {
			text := fmt.Sprintf("NodeMaintenance %s keeps its node out of use", m.Name)
			if m.Reason != "" {
				text += ": " + m.Reason
			}
			return InMaintenance, text
		}
	}
	switch {
	case !n.Ready && n.NotReady != "":
		return NotReady, fmt.Sprintf("its node is not Ready (%s)", n.NotReady)
	case !n.Ready:
		return NotReady, "its node is not Ready"
	case n.Cordoned && n.CordonedBy != "":
		return Cordoned, "its node is cordoned by a run, " + n.CordonedBy
	case n.Cordoned:
		return Cordoned, "its node is cordoned"
	}
	return Present, ""
}
