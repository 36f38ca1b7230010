package laws

import (
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// This file has the laws about the power of hosts.

// CheckPower checks that a run switches on, or restarts, no host that a person holds or
// that the inventory keeps runs off, and all laws about resets.
func (r *Run) CheckPower(h *Host, to engine.PowerTarget) {
	switch {
	case to == engine.PowerOff:
	case r.isKeptOut(h):
		r.reportViolation("%s is switched to %s while it is %s", h.Name, to, h.Hold)
	case r.observer.isPaused(h):
		r.reportViolation("%s is switched to %s, and the inventory keeps runs off it", h.Name, to)
	}
	if to == engine.PowerReset {
		r.checkReset(h)
	}
}

// checkReset checks that a run resets a host only if its pool allows that, under its own hold, after it has told so, not too
// early, once, and only in a reboot of that run from which the host has not come back as far as the run could know. The
// cluster of the host must be able to lose it.
func (r *Run) checkReset(h *Host) {
	r.CheckOwn(h, "reset")
	o, after := h.reboot, r.observer.poolOf(h).ResetAfter(h.Host)
	switch {
	case after == 0:
		r.reportViolation("%s is reset, and its pool does not allow that", h.Name)
	case o.by != r:
		r.reportViolation("%s is reset, and that run has not ordered its last reboot", h.Name)
	case r.observer.Now.Sub(o.at) < time.Duration(after):
		r.reportViolation("%s is reset %s after the order to reboot, and %s are to pass", h.Name, r.observer.Now.Sub(o.at), after)
	case r.observer.Now.Sub(r.seen[h.Name]) < time.Duration(after):
		r.reportViolation("%s is reset %s after its last answer, and %s are to pass", h.Name, r.observer.Now.Sub(r.seen[h.Name]), after)
	case o.got != "" && !wasUnseen(o.booted, r.seen[h.Name]):
		r.reportViolation("%s is reset, and has come back", h.Name)
	}
	if !r.resetsTold[h.Name] {
		r.reportViolation("%s is reset, and this is not in the journal", h.Name)
	}
	if r.resets[h.Name] {
		r.reportViolation("%s is reset twice", h.Name)
	}
	r.resets[h.Name] = true
	if c := r.observer.findCluster(h); c != nil {
		r.checkCluster(c, h, true)
		r.checkFresh(h)
	}
}

// followReset notes that the run tells that it is about to reset a host.
func (r *Run) followReset(e event.Event) {
	if e.Reset {
		r.resetsTold[e.Host] = true
	}
}
