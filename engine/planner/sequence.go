package planner

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// newHostPlan composes everything that is done to one host. The roll sequence
// reads as it happens: hold, prove that it is safe, drain, write, sync disks, move
// the etcd leader, reboot, wait until everything is back, release. What disrupts nothing
// is written without all that, in one step; what is only staged has none.
func newHostPlan(t engine.Target, changes []engine.Change, steps engine.Steps, adopt string) engine.HostPlan {
	hp := engine.HostPlan{
		Host: t.Host.Name, Pool: t.Pool.Name, Cluster: t.Host.Cluster, Zone: t.Host.Zone,
		Adopt: adopt, Changes: changes, Actions: engine.MergeActions(changes, steps.Actions), Stage: engine.MarkStaging(steps.Stage),
	}
	if hp.NonDisruptive() && len(steps.NonDisruptive) > 0 {
		hp.Sequence = append(append(slices.Clone(steps.Before), markHostChanges(steps.NonDisruptive)...), steps.After...)
		return hp
	}
	if len(changes) == 0 || stagesOnly(steps) {
		if adopt != "" {
			hp.Rollback = rollbackSteps(t, steps, true)
			hp.Sequence = withHold(t, adopt, "take over what run "+adopt+" left", recoverySteps(t, engine.Steps{After: steps.After}, true), false, sumTimeouts(hp.Rollback))
			if wasRolledBack(t) {
				hp.Sequence[len(hp.Sequence)-1] = releaseStep(t, engine.Release{})
			}
		}
		return hp
	}
	roll := disruptionSteps(hp, t, steps)
	drains := hasDrain(hp)
	hp.Rollback = rollbackSteps(t, steps, drains || adopt != "")
	roll = append(roll, recoverySteps(t, steps, drains || adopt != "")...)
	hp.Sequence = withHold(t, adopt, holdReason(changes), roll, bootsOther(steps.Reboot, t.Facts), sumTimeouts(hp.Rollback))
	return hp
}

// disruptionSteps is the part of a host's sequence from the proof that it is safe until
// everything has been done to it.
func disruptionSteps(hp engine.HostPlan, t engine.Target, steps engine.Steps) []engine.Step {
	var roll []engine.Step
	if hp.Disruptive() {
		roll = append(roll, quorumStep(t, hp.Adopt != "" || t.Repair)...)
		roll = append(roll, budgetStep(t, hp.Adopt)...)
		roll = append(roll, gateSteps(t.Pool, engine.BeforeHost, t.Host.Name)...)
	}
	roll = append(roll, steps.Before...)
	if hasDrain(hp) {
		roll = append(roll, drainStep(t)...)
	}
	waited := len(steps.Before) > 0 && hp.Disruptive() || hasDrain(hp) && len(drainStep(t)) > 0
	if waited && len(steps.Reboot) == 0 { // that may have taken long, and nothing is written for no purpose
		roll = append(roll, quorumStep(t, true)...)
	}
	roll = append(roll, markHostChanges(steps.Write)...)
	if len(steps.Reboot) > 0 {
		roll = append(roll, withQuorumCheck(t, steps.Reboot)...)
	} else {
		if hp.Disruptive() { // the member may go down with it
			roll = append(roll, leaderSteps(t)...)
		}
		roll = append(roll, markHostChanges(steps.Act)...)
	}
	return append(roll, steps.Record...)
}

// hasDrain reports whether work is moved off the host.
func hasDrain(hp engine.HostPlan) bool {
	return engine.HasAction(hp.Actions, engine.DrainAction) || engine.HasAction(hp.Actions, engine.RebootAction)
}

// stagesOnly reports whether nothing but staging is to be done.
func stagesOnly(s engine.Steps) bool {
	return len(s.Stage) > 0 && len(s.Write)+len(s.Act)+len(s.Reboot)+len(s.Record)+len(s.NonDisruptive) == 0
}

// markHostChanges marks the scripts among the steps of modules that change a host.
func markHostChanges(steps []engine.Step) []engine.Step {
	out := append([]engine.Step(nil), steps...)
	for i := range out {
		out[i].ChangesHost = out[i].ChangesHost || out[i].Do.Exec != nil
	}
	return out
}

// withHold puts a sequence between taking and releasing the host's hold,
// which lasts as long as everything in between, and more, may take. A sequence
// that brings another OS leaves on the host which OS all pools are to have.
func withHold(t engine.Target, adopt, reason string, roll []engine.Step, newOS bool, more engine.Duration) []engine.Step {
	take := engine.TakeHold{Reason: reason, For: engine.Duration(10*time.Minute) + sumTimeouts(roll) + more, Adopt: adopt, Renewed: t.Facts.HoldRenewed()}
	if newOS {
		take.Targets, take.RolloutRun, take.RolloutNumber = t.Rollout.Targets, t.Rollout.Run, t.Rollout.Number
	}
	take.PreviousOS = previousOS(t, newOS)
	first := engine.Step{Name: "hold", On: t.Host.Name, Do: engine.Op{TakeHold: &take}, Timeout: engine.CommandTimeout}
	return append(append([]engine.Step{first}, roll...), releaseStep(t, releaseOfMatching(t.Facts, roll)))
}

// sumTimeouts is how long steps may take.
func sumTimeouts(steps []engine.Step) (total engine.Duration) {
	for _, s := range steps {
		total += s.Timeout
	}
	return total
}

// mostReasons is how many changes a reason names.
const mostReasons = 3

func holdReason(changes []engine.Change) string {
	var parts []string
	for _, c := range changes[:min(mostReasons, len(changes))] {
		parts = append(parts, c.String())
	}
	return strings.Join(textutil.AndMore(parts, len(changes)), ", ")
}

// quorumStep asks whether the cluster may lose the host; down says that the
// host's own member may be down already.
func quorumStep(t engine.Target, down bool) []engine.Step {
	if t.Cluster == nil {
		return nil
	}
	return []engine.Step{{Name: "check quorum", On: t.Host.Name, Do: engine.Op{Quorum: &engine.Quorum{Cluster: t.Cluster.Name, Down: down}}, Timeout: engine.CommandTimeout}}
}

// leaderSteps move leadership away and then ask once more whether the cluster
// may lose the host: the drain may have taken long.
func leaderSteps(t engine.Target) []engine.Step {
	if t.Cluster == nil {
		return nil
	}
	move := engine.Step{Name: "move etcd leader", On: t.Host.Name, Do: engine.Op{MoveLeader: &engine.MoveLeader{Cluster: t.Cluster.Name}}, Timeout: engine.CommandTimeout}
	return append([]engine.Step{move}, quorumStep(t, true)...)
}

func drainStep(t engine.Target) []engine.Step {
	if d := t.Pool.Drain; d != nil && d.Command != "" {
		return []engine.Step{{Name: "drain", On: t.Host.Name, Do: engine.Op{Command: &engine.Local{Command: d.Command, Undo: d.Undo}}, Timeout: cmp.Or(d.Timeout, engine.DrainTimeout), ChangesHost: true}}
	}
	return nil
}

// recoverySteps wait until a host is wholly back, and let work return to it if
// the host was drained. One that a person drained stays as it is. Tasks that
// come after follow, or come before the work returns if they disturb it once
// more; then the gates.
func recoverySteps(t engine.Target, of engine.Steps, drained bool) []engine.Step {
	back := backSteps(t, of.StoppedServices)
	steps := back
	disturb := slices.ContainsFunc(of.After, func(s engine.Step) bool { return s.ChangesHost })
	if disturb {
		steps = append(append(slices.Clone(back), of.After...), back...)
	}
	if d := t.Pool.Drain; drained && d != nil && d.Undo != "" {
		steps = append(steps, engine.Step{Name: "undrain", On: t.Host.Name, Do: engine.Op{Command: &engine.Local{Command: d.Undo}}, Timeout: cmp.Or(d.Timeout, engine.DrainTimeout), ChangesHost: true})
	}
	if !disturb {
		steps = append(steps, of.After...)
	}
	return append(steps, gateSteps(t.Pool, engine.AfterHost, t.Host.Name)...)
}

// backSteps wait for the host's units and its etcd member.
func backSteps(t engine.Target, ends []string) []engine.Step {
	health := t.Pool.Timeouts.WithDefaults().Health
	units := awaitUnits(t.Facts)
	units.Running = slices.DeleteFunc(slices.Clone(units.Running), func(u string) bool { return slices.Contains(ends, u) })
	steps := []engine.Step{{Name: "wait for units", On: t.Host.Name, Do: engine.Op{AwaitUnits: &units}, Timeout: health}}
	if t.Cluster != nil {
		steps = append(steps, engine.Step{Name: "wait for etcd", On: t.Host.Name, Do: engine.Op{AwaitEtcd: &engine.AwaitEtcd{Cluster: t.Cluster.Name}}, Timeout: health})
	}
	return steps
}

// awaitUnits demands what runs now. Where a run has left its hold, that may be
// less than what ran before; the hold tells.
func awaitUnits(f engine.Facts) engine.AwaitUnits {
	want := engine.AwaitUnits{Running: f.Running, Failed: f.Failed}
	if f.Hold == nil || len(f.Hold.Units) == 0 {
		return want
	}
	want.Running = append([]string(nil), f.Running...)
	for _, u := range f.Hold.Units {
		if !slices.Contains(want.Running, u) {
			want.Running = append(want.Running, u)
		}
	}
	want.Failed = nil
	for _, u := range f.Failed {
		if !slices.Contains(f.Hold.Units, u) {
			want.Failed = append(want.Failed, u)
		}
	}
	return want
}

func gateSteps(p engine.Pool, when engine.GateWhen, on string) []engine.Step {
	var steps []engine.Step
	for _, g := range p.Gates {
		if g.At(when) {
			steps = append(steps, engine.Step{Name: "gate " + g.Name, On: on, Do: engine.Op{Gate: &g}, Timeout: cmp.Or(g.Timeout, engine.GateTimeout)})
		}
	}
	return steps
}
