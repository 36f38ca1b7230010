package kubefacts

import (
	"strings"
	"time"
)

// Lease is the lease of a node: a tool works on the node, or may do so.
type Lease struct {
	Node        string
	Holder      string
	RenewedAt   time.Time
	Duration    time.Duration
	Transitions int // how often it changed its holder
}

// maxLeaseClockError is how far in the future a lease may be renewed. A lease that was renewed
// later is of a clock that is wrong, and would last too long.
const maxLeaseClockError = time.Minute

// IsValid reports whether the holder has the lease at that time: it has a holder, it is not
// over, and it was not renewed in the future.
func (l Lease) IsValid(now time.Time) bool {
	return l.Holder != "" && now.Before(l.RenewedAt.Add(l.Duration)) && !l.RenewedAt.After(now.Add(maxLeaseClockError))
}

// holderPrefix is before the identity of the run in the holder of a lease that a run of holdfast has.
const holderPrefix = "holdfast-"

// HolderOf returns the holder of the leases that a run takes.
func HolderOf(bastion, run string) string { return holderPrefix + bastion + "-" + run }

// IsOwn reports whether a run of holdfast has the lease. The hold of the host tells which one, and keeps others away: so a
// run with the hold may take over the lease.
func (l Lease) IsOwn() bool { return strings.HasPrefix(l.Holder, holderPrefix) }

// LeaseRequest asks for the lease of a node.
type LeaseRequest struct {
	Node     string
	NodeUID  string // the Node owns the lease, so that the lease ends with it
	Holder   string
	Duration time.Duration
}

// LeaseAnswer tells who has the lease of a node.
type LeaseAnswer string

// The answers to a LeaseRequest.
const (
	LeaseTaken   LeaseAnswer = "taken"
	LeaseForeign LeaseAnswer = "foreign" // another tool has it
	LeaseUnused  LeaseAnswer = "unused"  // the cluster has no leases of nodes, or the user may not read them
)
