package engine

import "slices"

// CheckStays returns an error if the host leaves the site: no run connects to it.
func (h Host) CheckStays() error {
	if !h.Leaving {
		return nil
	}
	return &Failure{Kind: UnreachableFailure, Cause: "the inventory says that it is leaving, so no run connects to it"}
}

// StayingMembers returns the hosts that name this cluster and stay at the site, in inventory order.
func (inv Inventory) StayingMembers(cluster string) []Host {
	return slices.DeleteFunc(inv.Members(cluster), func(h Host) bool { return h.Leaving })
}
