package engine

import "time"

// HoldDrain is the part of a maintenance hold about the drain of the host. The release undoes exactly this. The hold names no command: a
// bastion runs only commands of its own inventory, and a command may contain a secret.
type HoldDrain struct {
	Name       string `json:"name"`                 // name of the drain of the pool
	Done       bool   `json:"done,omitempty"`       // the host is drained; missing: its drain has begun
	Undo       string `json:"undo,omitempty"`       // digest of the command that undoes the drain; missing: no command does
	Kubernetes string `json:"kubernetes,omitempty"` // Kubernetes cluster of the node; missing: a command drains the host
	Node       string `json:"node,omitempty"`       // name of the node
	Cordoned   bool   `json:"cordoned,omitempty"`   // the node is cordoned by holdfast; missing once the drain is done: somebody else had cordoned it
	Leased     bool   `json:"leased,omitempty"`     // the lease of the node is taken; missing once the drain is done: the cluster has none
}

// IsDrained reports whether a person has drained the host under this hold.
func (h Hold) IsDrained() bool { return h.Drain != nil && h.Drain.Done }

// DescribeDrain tells people about the drain, after a separator. It returns "" without a drain.
func (h Hold) DescribeDrain(separator string) string {
	switch {
	case h.Drain == nil:
		return ""
	case h.Drain.Done:
		return separator + "drained"
	}
	return separator + "its drain has begun"
}

// NoteDrain writes a drain into the hold of the host, which keeps its end.
type NoteDrain struct {
	Drain *HoldDrain `json:"drain,omitempty"` // missing: the host is not drained any more
}

// KeepEnd is the time of a hold that is written again and keeps its end.
const KeepEnd = Duration(-time.Second)
