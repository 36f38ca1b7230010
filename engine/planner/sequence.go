package planner

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// Timeouts of steps. A drain or gate without a timeout in the inventory gets its
// default; scriptTimeout bounds the steps that nobody can set.
const (
	defaultDrainTimeout = engine.Duration(10 * time.Minute)
	defaultGateTimeout  = engine.Duration(5 * time.Minute)
	scriptTimeout       = engine.Duration(time.Minute)
)

// newHostPlan composes the sequence of one host in the order of execution:
// hold, check quorum, drain, write, sync disks, move the etcd leader, reboot,
// wait for recovery, release. Steps without a hold write non-disruptive
// changes. A host that is only staged has no sequence.
func newHostPlan(t engine.Target, changes []engine.Change, steps engine.Steps, adopt string) engine.HostPlan {
	hp := engine.HostPlan{
		Host: t.Host.Name, Pool: t.Pool.Name, Cluster: t.Host.Cluster, Zone: t.Host.Zone,
		Adopt: adopt, Changes: changes, Actions: mergeActions(changes, steps.Actions), Stage: markStaging(steps.Stage),
	}
	if hp.NonDisruptive() && len(steps.NonDisruptive) > 0 {
		hp.Sequence = append(appendHostChanges(slices.Clone(steps.Before), steps.NonDisruptive), steps.After...)
		return hp
	}
	if len(changes) == 0 || stagesOnly(steps) {
		if adopt != "" {
			hp.Rollback = rollbackSteps(t, steps, true)
			hp.Sequence = withHold(t, engine.TakeHold{Adopt: adopt, Reason: "adopt what run " + adopt + " left", For: sumTimeouts(hp.Rollback)}, recoverySteps(t, engine.Steps{After: steps.After}, true), false)
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
	hp.Sequence = withHold(t, engine.TakeHold{Adopt: adopt, Reason: holdReason(changes), For: sumTimeouts(hp.Rollback)}, roll, bootsOther(steps.Reboot, t.Facts))
	return hp
}

// stepsAround is the number of steps that most hosts have around those of the modules.
const stepsAround = 4

func disruptionSteps(hp engine.HostPlan, t engine.Target, steps engine.Steps) []engine.Step {
	roll := make([]engine.Step, 0, stepsAround+len(steps.Before)+len(steps.Write)+len(steps.Act)+len(steps.Reboot)+len(steps.Record)+len(steps.After))
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
	if waited && len(steps.Reboot) == 0 { // the steps before may have taken long, so check the quorum again before anything is written
		roll = append(roll, quorumStep(t, true)...)
	}
	roll = appendHostChanges(roll, steps.Write)
	if len(steps.Reboot) > 0 {
		roll = appendReboot(roll, t, steps.Reboot)
	} else {
		if hp.Disruptive() { // the actions may stop the member
			roll = append(roll, leaderSteps(t)...)
		}
		roll = appendHostChanges(roll, steps.Act)
	}
	return append(roll, steps.Record...)
}

func hasDrain(hp engine.HostPlan) bool {
	return hp.HasAction(engine.DrainAction) || hp.HasAction(engine.RebootAction)
}

func stagesOnly(s engine.Steps) bool {
	return len(s.Stage) > 0 && len(s.Write)+len(s.Act)+len(s.Reboot)+len(s.Record)+len(s.NonDisruptive) == 0
}

// appendHostChanges appends steps to a sequence, and marks those that change the host.
func appendHostChanges(sequence, steps []engine.Step) []engine.Step {
	for _, s := range steps {
		s.ChangesHost = s.ChangesHost || s.Do.Exec != nil
		sequence = append(sequence, s)
	}
	return sequence
}

// withHold puts a sequence between the steps that take and release the hold.
// The hold lasts longer than the timeouts of all steps together, by ten minutes
// and take.For. If the sequence brings another OS, the host records the OS of
// each pool in that roll-out.
func withHold(t engine.Target, take engine.TakeHold, roll []engine.Step, newOS bool) []engine.Step {
	take.For += engine.Duration(10*time.Minute) + sumTimeouts(roll)
	take.Renewed = t.Facts.HoldRenewed()
	if newOS {
		take.Targets, take.RolloutRun, take.RolloutNumber, take.RolloutOver = t.Rollout.Targets, t.Rollout.Run, t.Rollout.Number, t.Rollout.Over
	}
	take.PreviousOS = previousOS(t, newOS)
	first := engine.Step{Name: "hold", On: t.Host.Name, Do: engine.Op{TakeHold: &take}, Timeout: scriptTimeout}
	whole := append(make([]engine.Step, 0, len(roll)+2), first)
	return append(append(whole, roll...), releaseStep(t, releaseOfMatching(t.Facts, roll)))
}

func sumTimeouts(steps []engine.Step) (total engine.Duration) {
	for _, s := range steps {
		total += s.Timeout
	}
	return total
}

// mostReasons is the highest number of changes that a reason names.
const mostReasons = 3

func holdReason(changes []engine.Change) string {
	var parts []string
	for _, c := range changes[:min(mostReasons, len(changes))] {
		parts = append(parts, c.String())
	}
	return strings.Join(textutil.AndMore(parts, len(changes)), ", ")
}

// quorumStep checks that the cluster may lose the host. down allows that the
// host's own member is already down.
func quorumStep(t engine.Target, down bool) []engine.Step {
	if t.Cluster == nil {
		return nil
	}
	return []engine.Step{{Name: "check quorum", On: t.Host.Name, Do: engine.Op{Quorum: &engine.Quorum{Cluster: t.Cluster.Name, Down: down}}, Timeout: scriptTimeout}}
}

// leaderSteps check the quorum again, because the drain may have taken long.
func leaderSteps(t engine.Target) []engine.Step {
	if t.Cluster == nil {
		return nil
	}
	move := engine.Step{Name: "move etcd leader", On: t.Host.Name, Do: engine.Op{MoveLeader: &engine.MoveLeader{Cluster: t.Cluster.Name}}, Timeout: scriptTimeout}
	return append([]engine.Step{move}, quorumStep(t, true)...)
}

func drainStep(t engine.Target) []engine.Step {
	if d := t.Pool.Drain; d != nil && d.Command != "" {
		return []engine.Step{{Name: "drain", On: t.Host.Name, Do: engine.Op{Command: &engine.Local{Command: d.Command, Undo: d.Undo}}, Timeout: cmp.Or(d.Timeout, defaultDrainTimeout), ChangesHost: true}}
	}
	return nil
}

// recoverySteps wait until a host is back, and undrain the host if the run
// drained it. Tasks that change the host come before the undrain, and other
// tasks after it. The gates come last.
func recoverySteps(t engine.Target, of engine.Steps, drained bool) []engine.Step {
	back := backSteps(t, of.StoppedServices)
	steps := back
	disturb := slices.ContainsFunc(of.After, func(s engine.Step) bool { return s.ChangesHost })
	if disturb {
		steps = append(append(slices.Clone(back), of.After...), back...)
	}
	if d := t.Pool.Drain; drained && d != nil && d.Undo != "" {
		steps = append(steps, engine.Step{Name: "undrain", On: t.Host.Name, Do: engine.Op{Command: &engine.Local{Command: d.Undo}}, Timeout: cmp.Or(d.Timeout, defaultDrainTimeout), ChangesHost: true})
	}
	if !disturb {
		steps = append(steps, of.After...)
	}
	return append(steps, gateSteps(t.Pool, engine.AfterHost, t.Host.Name)...)
}

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

// awaitUnits waits for the services that run now. The hold of a dead run adds
// the services that ran before that run.
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
			steps = append(steps, engine.Step{Name: "gate " + g.Name, On: on, Do: engine.Op{Gate: &g}, Timeout: cmp.Or(g.Timeout, defaultGateTimeout)})
		}
	}
	return steps
}

func releaseStep(t engine.Target, r engine.Release) engine.Step {
	return engine.Step{Name: "release", On: t.Host.Name, Do: engine.Op{Release: &r}, Timeout: scriptTimeout}
}

// releaseOfMatching returns the release of a host that matches after these
// steps. The release accepts a rejected OS that now runs well. Without a
// reboot, the release requires the boot of the facts, because the host may have
// booted another OS after these facts.
func releaseOfMatching(f engine.Facts, roll []engine.Step) engine.Release {
	digest, boot := "", f.BootID
	if booted := f.Booted(); booted != nil {
		digest = booted.Digest
	}
	for _, s := range roll {
		if s.Do.AwaitBoot != nil {
			digest, boot = s.Do.AwaitBoot.Digest, ""
		}
	}
	if !slices.Contains(f.Rejected, digest) {
		return engine.Release{Updated: true}
	}
	return engine.Release{Updated: true, Accepts: digest, BootID: boot}
}

// markStaging returns copies of the steps with Stages set.
func markStaging(steps []engine.Step) []engine.Step {
	marked := slices.Clone(steps)
	for i := range marked {
		marked[i].Stages = true
	}
	return marked
}
