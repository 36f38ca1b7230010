package laws

import (
	"slices"
	"time"
)

// The laws of changes of etcd members.

// Removed is a voter that is removed.
type Removed struct {
	Serves  bool // it is healthy
	HasData bool // its host has its data
}

// CheckAddLearner checks that the inventory wants a member on the host, that the cluster has no other learner, and that the host
// has a record of the change: otherwise nobody could tell a learner that a killed run left from one that a person added.
func (r *Run) CheckAddLearner(c *Cluster, h *Host, recorded bool) {
	r.CheckOwn(h, "given a member")
	switch host, ok := r.observer.Inventory.Host(h.Name); {
	case c.Learner != nil:
		r.reportViolation("%s and %s of cluster %s learn at once", c.Learner.Name, h.Name, c.Name)
	case !ok || host.Retired:
		r.reportViolation("%s is given a member, and nobody wants one there", h.Name)
	case !recorded:
		r.reportViolation("%s is given a member, and has no record of it", h.Name)
	}
	r.CheckPaused(h)
}

// CheckPromote checks the voters after the promotion with checkVoters, and that the inventory wants a voter on the host.
func (r *Run) CheckPromote(c *Cluster, h *Host) {
	r.checkVoters(c, h, append(slices.Clone(c.Members), h))
	if host, ok := r.observer.Inventory.Host(h.Name); !ok || host.Retired {
		r.reportViolation("%s is given a vote, and nobody wants one there", h.Name)
	}
}

// CheckRemove checks that a voter is removed only if a person wants it removed or if it is dead, that more than half of the
// other voters are healthy, and that a voter that serves does not lead and leaves only healthy voters.
func (r *Run) CheckRemove(c *Cluster, h *Host, m Removed) {
	host, ok := r.observer.Inventory.Host(h.Name)
	switch meant := ok && host.Retired; {
	case m.Serves && !meant:
		r.reportViolation("the voter of %s is removed, although it serves and nobody wants it removed", h.Name)
	case m.HasData && !meant:
		r.reportViolation("the voter of %s is removed, although it may come back and nobody wants it removed", h.Name)
	case m.Serves && c.Leader == h && !wasUnseen(c.Elected, r.gathered[c.Name]):
		r.reportViolation("%s leads cluster %s, and its voter is removed", h.Name, c.Name)
	}
	others := slices.DeleteFunc(slices.Clone(c.Members), func(o *Host) bool { return o == h })
	if m.Serves {
		r.checkVoters(c, h, others)
	}
	r.checkMajority(c, others)
}

// checkVoters checks that all voters are healthy, as far as the run could know, and that no run disrupts the host of
// another voter.
func (r *Run) checkVoters(c *Cluster, h *Host, voters []*Host) {
	for _, m := range voters {
		switch {
		case m != h && m.isDisrupted():
			r.reportViolation("cluster %s changes the voter of %s while %s is disrupted", c.Name, h.Name, m.Name)
		case !m.Healthy && !wasUnseen(m.Lost, r.gathered[c.Name]):
			r.reportViolation("cluster %s changes the voter of %s while %s is not healthy", c.Name, h.Name, m.Name)
		}
	}
	r.checkMajority(c, voters)
}

func (r *Run) checkMajority(c *Cluster, voters []*Host) {
	serve := 0
	for _, m := range voters {
		if m.Healthy || wasUnseen(m.Lost, r.gathered[c.Name]) {
			serve++
		}
	}
	if 2*serve <= len(voters) {
		r.reportViolation("after a change, only %d of %d voters of cluster %s are healthy", serve, len(voters), c.Name)
	}
}

// CheckConfigure checks that a member may restart with other settings.
func (r *Run) CheckConfigure(c *Cluster, h *Host) {
	r.CheckOwn(h, "configured")
	r.CheckPaused(h)
	r.checkCluster(c, h, true)
}

// CheckSetAside checks that no member needs the data that are set aside.
func (r *Run) CheckSetAside(h *Host, needed bool) {
	r.CheckOwn(h, "freed of its data")
	if needed {
		r.reportViolation("the data of the member of %s are set aside", h.Name)
	}
}

// CheckFounded checks that no cluster is founded while a host still has data of an earlier cluster of that name.
func (w *Observer) CheckFounded(h *Host, hasEarlierData bool) {
	if hasEarlierData {
		w.report(h.Name + " founds a second cluster of the name " + h.Cluster + ", at " + w.Now.UTC().Format(time.TimeOnly))
	}
}
