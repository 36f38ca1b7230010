package rollout

import (
	"context"
	"errors"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// runSteps works through the steps of a host. If its drain fails, or the budgets have no room for it, the host is given back.
func (m *maintainer) runSteps(ctx context.Context, action engine.MaintenanceAction, h engine.HostMaintenance) *engine.Failure {
	host, _ := m.steps.Inventory.Host(h.Host)
	hp := engine.HostPlan{Host: h.Host, Pool: host.Pool, Cluster: host.Cluster}
	if h.Under != (engine.HoldOwner{}) {
		m.steps.owners.Store(h.Host, h.Under)
	}
	for i, s := range h.Steps {
		if err := m.steps.firstError(); err != nil {
			return &engine.Failure{Step: s.Name, Cause: err.Error(), Kind: engine.JournalFailure}
		}
		f := &engine.Failure{Step: s.Name, Cause: errStopped.Error(), NotStarted: true}
		if ctx.Err() == nil {
			f = m.steps.runStep(ctx, hp, s)
		}
		switch {
		case f == nil:
			continue
		case ctx.Err() != nil:
			f.Kind = engine.StoppedFailure // the interrupted step may have returned another kind
		case s.MayFail:
			m.gatherer.emitWarning(h.Host + ": " + s.Name + ": " + f.Cause + "; " + describeRest(action) + " all the same")
			continue
		case len(h.Undo) > 0 && (s.Do.DrainNode != nil || s.Do.Command != nil):
			return m.giveBack(ctx, hp, h, f)
		case s.Do.Budget != nil && s.Undo != nil:
			if f.Kind == engine.UnsafeFailure {
				f.Kind = engine.RefusedFailure
			}
			h.Undo, h.Remains = []engine.Step{*s.Undo}, "it stays held: holdfast release "+h.Host+" ends the hold"
			return m.giveBack(ctx, hp, h, f)
		}
		_, sent := m.steps.switched.Load(h.Host)
		if unsure := describeUnsureHold(s, f); unsure != "" {
			f.Cause += "; " + unsure + " (check with: holdfast holds " + h.Host + ")"
		} else if h.Remains != "" && (i > 0 || sent || action == engine.ReleaseHosts) {
			f.Cause += "; " + h.Remains
		}
		return f
	}
	return nil
}

// describeUnsureHold describes the hold of a host if the answer of a step was lost, for example because the operator stopped
// the command. Otherwise it returns "".
func describeUnsureHold(s engine.Step, f *engine.Failure) string {
	switch isLost := !f.NotStarted && (f.Kind == engine.StoppedFailure || f.Kind == engine.UnreachableFailure); {
	case isLost && s.Do.TakeHold != nil:
		return "it may be held"
	case isLost && s.Do.EndHold != nil:
		return "its hold may have ended"
	case isLost && s.Do.ExtendHold != nil:
		return "its hold may have changed"
	}
	return ""
}

// describeRest describes the rest of the steps of a host after a step that may fail.
func describeRest(action engine.MaintenanceAction) string {
	if action == engine.ReleaseHosts {
		return "its hold ends"
	}
	return "its power is cut"
}

// giveBack undoes a drain that failed, or was not begun, and ends the hold if this command has taken it.
func (m *maintainer) giveBack(ctx context.Context, hp engine.HostPlan, h engine.HostMaintenance, f *engine.Failure) *engine.Failure {
	state := "it is neither drained nor held"
	for _, s := range h.Undo {
		if undo := m.steps.runUndoStep(ctx, hp, s); undo != nil {
			f.Cause += "; " + s.Name + ": " + undo.Cause + "; " + h.Remains
			return f
		}
		if s.Do.NoteDrain != nil {
			state = "it is held as before, and not drained"
		}
	}
	f.Cause += "; " + state
	return f
}

// ownerOf returns the owner of the hold under which steps work on the host.
func (r *stepRunner) ownerOf(host string) engine.HoldOwner {
	if owner, ok := r.owners.Load(host); ok {
		return owner.(engine.HoldOwner)
	}
	return r.holdOwner()
}

// maxHoldChanges is the number of times that a hold is read again because another command has written it meanwhile.
const maxHoldChanges = 5

// changeHold changes the hold of a person, which keeps its end. It reads the hold before, because another command of the person may have
// changed it meanwhile.
func (r *stepRunner) changeHold(ctx context.Context, host string, change func(*engine.Hold)) (err error) {
	stale := true
	for tries := 0; stale && tries < maxHoldChanges; tries++ {
		stale, err = r.changeReadHold(ctx, host, change)
	}
	return err
}

// changeReadHold reads the hold and writes it again. stale means that another command has written or ended the hold in between.
func (r *stepRunner) changeReadHold(ctx context.Context, host string, change func(*engine.Hold)) (stale bool, err error) {
	k := r.keepHoldsOfPeople()
	seen, err := k.Read(ctx, host)
	if err != nil {
		return false, err
	}
	h := seen.Facts.Hold
	switch {
	case seen.Facts.HoldProblem != "":
		return false, &engine.Failure{Kind: engine.HeldFailure, Cause: seen.Facts.HoldProblem}
	case h == nil:
		return false, &engine.Failure{Kind: engine.HeldFailure, Cause: "its hold is gone"}
	case h.Owner() != r.ownerOf(host):
		return false, &engine.Failure{Kind: engine.HeldFailure, Cause: h.String()}
	}
	change(h)
	err = k.Take(ctx, host, *h, engine.TakeHold{For: engine.KeepEnd, Digest: resource.Digest([]byte(seen.Text))})
	if f := new(engine.Failure); errors.As(err, &f) && f.Kind == engine.HeldFailure {
		return true, err
	}
	if err == nil {
		r.rememberHold(host, h, engine.KeepEnd)
	}
	return false, err
}

// takenNode tells how this run has taken a node.
type takenNode struct{ cordoned, leased bool }

func (r *stepRunner) noteDrain(ctx context.Context, host string, note engine.NoteDrain) error {
	if taken, ok := r.drained.Load(host); ok && note.Drain != nil {
		d := *note.Drain
		d.Cordoned, d.Leased = taken.(takenNode).cordoned, taken.(takenNode).leased
		note.Drain = &d
	}
	return r.changeHold(ctx, host, func(h *engine.Hold) { h.Drain = note.Drain })
}
