package planner

import (
	"slices"
	"time"

	"holdfast/engine"
)

// hostWork has everything that decides the sequence of a host.
type hostWork struct {
	target  engine.Target
	changes []engine.Change
	steps   engine.Steps
	adopt   string // dead run whose hold is adopted

	disrupts  bool     // the work drains or reboots the host, or restarts a unit
	drains    bool     // the work drains the host
	isDrained bool     // the host is drained once the work is done, or a dead run may have drained it
	spares    bool     // the work does not stop the etcd member
	restarts  []string // services that have run on during the reboot, and restart afterwards
	runsOn    bool     // the kubelet may be one of the services that run on during the reboot

	stops []string // services that stop before anything is written, because the reboot must stop them

	restartsFirst bool // the work only restarts services, and the other changes follow

	rollsBack bool // the sequence replaces the rest of another, under the same hold
}

// composeSequence returns the steps of a host. This list is the order in which a
// run changes a host. A part that the work does not need has no steps.
func (w *hostWork) composeSequence() []engine.Step {
	var parts [][]engine.Step
	for _, part := range []func() []engine.Step{
		w.takeHold,
		w.checkQuorum, w.checkBudget, w.askBefore,
		w.runFirstTasks, w.drainHost, w.checkQuorumAgain,
		w.stopReleased, w.writeChanges, w.syncDisks, w.moveLeader, w.runActions, w.rebootHost, w.recordChanges,
		w.awaitHost, w.restartSurvivors, w.changeByTasks, w.awaitNode, w.undrainHost, w.runLastTasks, w.askAfter,
	} {
		parts = append(parts, part())
	}
	steps := slices.Concat(parts...)
	return slices.Concat(steps, w.releaseHold(steps))
}

// newHostPlan composes the work on one host. Steps without a hold write
// non-disruptive changes. A host that is only staged has no sequence.
func newHostPlan(t engine.Target, d difference, adopt string) engine.HostPlan {
	changes, steps := d.changes, d.steps
	hp := engine.HostPlan{
		Host: t.Host.Name, Pool: t.Pool.Name, Cluster: t.Host.Cluster, Zone: t.Host.Zone,
		Adopt: adopt, BootID: t.Facts.BootID, Changes: changes, Actions: mergeActions(changes, steps.Actions), Stage: markStaging(steps.Stage),
	}
	if hp.NonDisruptive() && len(steps.NonDisruptive) > 0 {
		hp.Sequence = slices.Concat(steps.Before, markHostChanges(steps.NonDisruptive), steps.After)
		return hp
	}
	hp.RestartsFirst = d.restartsFirst
	work := hostWork{target: t, changes: changes, steps: steps, adopt: adopt, isDrained: true, restartsFirst: d.restartsFirst}
	if len(changes) == 0 || stagesOnly(steps) {
		if adopt == "" {
			return hp
		}
		work.changes, work.steps = nil, engine.Steps{After: steps.After}
	} else {
		work.disrupts = hp.Disruptive()
		work.drains = !d.restartsFirst && (hp.HasAction(engine.DrainAction) || hp.HasAction(engine.RebootAction))
		work.isDrained = work.drains || adopt != ""
	}
	if len(steps.Rollback) > 0 {
		back := hostWork{target: t, steps: engine.Steps{Reboot: steps.Rollback}, adopt: adopt, drains: true, isDrained: true, rollsBack: true}
		back.steps.StoppedServices = steps.StoppedServices
		hp.Rollback = back.composeSequence()
	}
	if len(work.steps.Reboot) > 0 {
		hp.Reboot = d.reboot.Reboot
		work.spares, work.restarts = hp.Reboot.Survival.SparesMember(), hp.Reboot.Restarts
		work.stops, work.runsOn = d.stops, mayKeepKubelet(t, hp.Reboot.Survivors)
	} else {
		work.spares = restartsOthers(work.steps)
	}
	hp.Sequence = work.composeSequence()
	allowReset(t, &hp)
	hp.Sequence[0].Do.TakeHold.For = engine.Duration(10*time.Minute) + sumTimeouts(hp.Sequence[1:len(hp.Sequence)-1]) + sumTimeouts(hp.Rollback)
	setLeaseTime(hp.Sequence, hp.Sequence[0].Do.TakeHold.For)
	setLeaseTime(hp.Rollback, hp.Sequence[0].Do.TakeHold.For)
	return hp
}

// takeHold returns a hold that newHostPlan lets last longer than all steps
// together. If the sequence brings another OS, the host records the OS of each pool
// in that roll-out.
func (w *hostWork) takeHold() []engine.Step {
	if w.rollsBack {
		return nil
	}
	t := w.target
	take := engine.TakeHold{Adopt: w.adopt, Reason: holdReason(w.changes), Renewed: t.Facts.HoldRenewed()}
	if len(w.changes) == 0 {
		take.Reason = "adopt what run " + w.adopt + " left"
	}
	newOS := bootsOther(w.steps.Reboot, t.Facts)
	if newOS {
		rollout := t.Rollout // a pointer into the target would keep all of it
		take.Rollout = &rollout
	}
	take.PreviousOS = previousOS(t, newOS)
	return []engine.Step{{Name: "hold", On: t.Host.Name, Do: engine.Op{TakeHold: &take}, Timeout: scriptTimeout}}
}

func (w *hostWork) checkQuorum() []engine.Step {
	if !w.disrupts {
		return nil
	}
	return quorumStep(w.target, w.adopt != "" || w.target.Repair, w.spares)
}

func (w *hostWork) checkBudget() []engine.Step {
	if !w.disrupts {
		return nil
	}
	return budgetStep(w.target, w.adopt)
}

func (w *hostWork) askBefore() []engine.Step {
	if !w.disrupts {
		return nil
	}
	return gateSteps(w.target.Pool, engine.BeforeHost, w.target.Host.Name)
}

func (w *hostWork) runFirstTasks() []engine.Step { return w.steps.Before }

// checkQuorumAgain checks the quorum before anything is written, because the steps
// before may have taken long. A reboot has a check of its own.
func (w *hostWork) checkQuorumAgain() []engine.Step {
	waited := len(w.steps.Before) > 0 && w.disrupts || len(w.drainHost()) > 0
	if !waited || w.hasReboot() {
		return nil
	}
	return quorumStep(w.target, true, false)
}

func (w *hostWork) writeChanges() []engine.Step { return markHostChanges(w.steps.Write) }

func (w *hostWork) hasReboot() bool { return len(w.steps.Reboot) > 0 }

// orderIndex returns the index of the order among the steps that reboot the host.
func (w *hostWork) orderIndex() int {
	return max(0, slices.IndexFunc(w.steps.Reboot, func(s engine.Step) bool { return s.Reboots }))
}

func (w *hostWork) syncDisks() []engine.Step { return w.steps.Reboot[:w.orderIndex()] }

// moveLeader moves the leader and checks the quorum directly before a reboot, and
// before actions that may stop the member.
func (w *hostWork) moveLeader() []engine.Step {
	if !w.hasReboot() && !w.disrupts {
		return nil
	}
	return leaderSteps(w.target, w.spares)
}

// runActions moves the leader and checks the quorum again before each action after the first, because an action may take
// minutes, in which another member may fail.
func (w *hostWork) runActions() []engine.Step {
	if w.hasReboot() {
		return nil
	}
	var steps []engine.Step
	for _, s := range markHostChanges(w.steps.Act) {
		isChecked := len(steps) == 0 || steps[len(steps)-1].Do.Quorum != nil // plays check the quorum before some tasks themselves
		if !isChecked && (s.Do.Exec != nil || s.Do.RestartSurvivors != nil) {
			steps = append(steps, w.moveLeader()...)
		}
		steps = append(steps, s)
	}
	return steps
}

func (w *hostWork) rebootHost() []engine.Step {
	return markHostChanges(w.steps.Reboot[w.orderIndex():])
}

// recordChanges records the changes, unless services that run on make them take effect later.
func (w *hostWork) recordChanges() []engine.Step {
	if len(w.restarts) > 0 {
		return nil
	}
	return w.steps.Record
}

func (w *hostWork) awaitHost() []engine.Step {
	return backSteps(w.target, w.steps.StoppedServices)
}

func (w *hostWork) tasksChangeHost() bool {
	return slices.ContainsFunc(w.steps.After, func(s engine.Step) bool { return s.ChangesHost })
}

// changeByTasks runs the tasks before the undrain if one of them changes the host,
// and then waits for the host again.
func (w *hostWork) changeByTasks() []engine.Step {
	if !w.tasksChangeHost() {
		return nil
	}
	return slices.Concat(w.steps.After, w.awaitHost())
}

func (w *hostWork) runLastTasks() []engine.Step {
	if w.tasksChangeHost() {
		return nil
	}
	return w.steps.After
}

func (w *hostWork) askAfter() []engine.Step {
	return gateSteps(w.target.Pool, engine.AfterHost, w.target.Host.Name)
}

func (w *hostWork) releaseHold(steps []engine.Step) []engine.Step {
	if w.rollsBack || w.restartsFirst || len(w.changes) == 0 && wasRolledBack(w.target) {
		return []engine.Step{releaseStep(w.target, engine.Release{Whole: true})}
	}
	return []engine.Step{releaseStep(w.target, releaseOfMatching(w.target.Facts, steps))}
}
