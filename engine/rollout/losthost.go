package rollout

import (
	"slices"

	"holdfast/engine"
)

// aimOfHost returns the aim of the changes of a host under a hold. It returns "" for the tasks of a play that are no part of the
// desired state, because their failure tells nothing about it.
func aimOfHost(o *Options, hp engine.HostPlan) string {
	isTask := func(c engine.Change) bool { return c.Task }
	if len(o.Plays) > 0 && len(slices.DeleteFunc(slices.Clone(hp.Changes), isTask)) == 0 || len(hp.Sequence) == 0 || hp.Sequence[0].Do.TakeHold == nil {
		return ""
	}
	return o.Desired[hp.Host].Aim(hp.Sequence[0].Do.TakeHold.Rollout != nil)
}

// isSettled reports whether an earlier run had lost the host, and the host is not lost any more if it matches or is updated now.
func (p *planning) isSettled(host string) bool { return isSettled(p.Options, p.state, host) }

func isSettled(o *Options, p *runState, host string) bool {
	lost, known := o.Lost[host]
	var play *engine.Play
	if p.play != nil {
		play = &p.play.Play
	}
	return known && lost.IsSettledBy(play, host, o.Desired[host])
}

// listRegained returns the host if an earlier run had lost it, and its update, which is done, proves that it is well: the play compares
// it with its desired state, or has brought the same change.
func (h *hostRun) listRegained() []string {
	if lost, known := h.Lost[h.hp.Host]; known && (isSettled(h.Options, h.state, h.hp.Host) || aimOfHost(h.Options, h.hp) == lost.Aim) {
		return []string{h.hp.Host}
	}
	return nil
}

func (p *runState) noteFound(hosts []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = append(p.found, hosts...)
}

// removeFound removes the hosts that are not lost any more.
func (p *runState) removeFound(lost map[string]engine.LostHost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, host := range p.found {
		delete(lost, host)
	}
}
