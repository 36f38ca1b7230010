package simulator

import (
	"context"
	"errors"

	"holdfast/engine"
	"holdfast/engine/journal"
	"holdfast/engine/rollout"
)

// Machine is the machine of a bastion. Its folder has the journals of all runs
// that begin on the machine, and the lock of the site. Package journal keeps
// both on a real file system.
type Machine struct {
	Dir string

	// NoLock lets a run begin although another run has the lock, so that a test
	// can see which law is then broken.
	NoLock bool
}

// Apply carries out a run of the bastion as the command apply does: with the
// lock of the site, and with the holds of dead runs. If another run of the
// machine has the lock, the run does not begin, and the error is a
// *journal.BusyError. The end of a run releases the lock, also if the run is
// killed, as the kernel does.
func (m Machine) Apply(ctx context.Context, b *Bastion, r *rollout.Run) (engine.RunEnd, error) {
	self := engine.HoldOwner{Run: r.ID, Bastion: r.Start.Bastion}
	left, unlock, err := journal.EnterSite(m.Dir, r.Inventory.Site, self, journal.LockInfo{Run: r.ID, Holder: r.Start.Holder, Since: b.clock.Now()})
	if busy := new(journal.BusyError); m.NoLock && errors.As(err, &busy) {
		var runs []journal.Run
		runs, err = journal.ListRuns(m.Dir)
		left, unlock = journal.SummarizeRuns(runs, r.Inventory.Site, self), func() {}
	}
	if err != nil {
		return engine.RunEnd{}, err
	}
	defer unlock()
	takeLeftovers(r, left)
	written, err := journal.Create(m.Dir, r.ID)
	if err != nil {
		return engine.RunEnd{}, err
	}
	defer func() { _ = written.Close() }()
	b.Journal = written.Emit
	return b.Apply(ctx, r), nil
}
