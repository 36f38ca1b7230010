package laws

import "slices"

// unitsBefore is the state of the units of a host before the first disruption.
type unitsBefore struct {
	run    string // ID of the run that took the host then
	failed []string
}

// noteUnits notes the failed units when a run takes a host that was whole. Later
// holds of the host, also of other runs and bastions, and after a person has ended
// the hold, do not change the note: by then the units may have failed because of
// the disruption.
func (r *Run) noteUnits(h *Host) {
	if h.before == nil {
		h.before = &unitsBefore{run: r.ID, failed: slices.Clone(h.Failed)}
	}
}

// CheckWhole checks that no unit has failed on a host that is released as
// whole, except the units that had failed before the first disruption. Any
// other released host is as the run found it.
func (r *Run) CheckWhole(h *Host, whole bool) {
	if h.before == nil {
		return
	}
	if !whole {
		if h.before.run == r.ID {
			h.before = nil
		}
		return
	}
	for _, u := range h.Failed {
		if !slices.Contains(h.before.failed, u) && !wasUnseen(h.Lost, r.seen[h.Name]) {
			r.reportViolation("%s is released as whole, and %s has failed, which had not failed before run %s", h.Name, u, h.before.run)
		}
	}
	h.before = nil
}
