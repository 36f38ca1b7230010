package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// hostPlan composes everything that is done to one host. The roll sequence
// reads as it happens: hold, prove that it is safe, drain, write, sync disks, move
// the etcd leader, reboot, wait until everything is back, release. What disrupts nothing
// is written without all that, in one step; what is only staged has none.
func hostPlan(t Target, changes []Change, steps Steps, adopt string) HostPlan {
	hp := HostPlan{
		Host: t.Host.Name, Pool: t.Pool.Name, Cluster: t.Host.Cluster, Zone: t.Host.Zone,
		Adopt: adopt, Changes: changes, Actions: mergeActions(changes, steps.Actions), Stage: staging(steps.Stage),
	}
	if hp.NonDisruptive() && len(steps.Quiet) > 0 {
		hp.Sequence = append(append(slices.Clone(steps.Before), markHostChanges(steps.Quiet)...), steps.After...)
		return hp
	}
	if len(changes) == 0 || steps.onlyStage() {
		if adopt != "" {
			hp.Rollback = rollbackSteps(t, steps, true)
			hp.Sequence = withHold(t, adopt, "take over what run "+adopt+" left", recoverySteps(t, Steps{After: steps.After}, true), false, sumTimeouts(hp.Rollback))
			if t.wasRolledBack() {
				hp.Sequence[len(hp.Sequence)-1] = releaseStep(t, Release{})
			}
		}
		return hp
	}
	roll := hp.disruptionSteps(t, steps)
	drains := hp.hasDrain()
	hp.Rollback = rollbackSteps(t, steps, drains || adopt != "")
	roll = append(roll, recoverySteps(t, steps, drains || adopt != "")...)
	hp.Sequence = withHold(t, adopt, holdReason(changes), roll, bootsOther(steps.Reboot, t.Facts), sumTimeouts(hp.Rollback))
	return hp
}

// disruptionSteps is the part of a host's sequence from the proof that it is safe until
// everything has been done to it.
func (hp HostPlan) disruptionSteps(t Target, steps Steps) []Step {
	var roll []Step
	if hp.Disruptive() {
		roll = append(roll, quorumStep(t, hp.Adopt != "" || t.repair)...)
		roll = append(roll, budgetStep(t, hp.Adopt)...)
		roll = append(roll, gateSteps(t.Pool, BeforeHost, t.Host.Name)...)
	}
	roll = append(roll, steps.Before...)
	if hp.hasDrain() {
		roll = append(roll, drainStep(t)...)
	}
	waited := len(steps.Before) > 0 && hp.Disruptive() || hp.hasDrain() && len(drainStep(t)) > 0
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
func (hp HostPlan) hasDrain() bool {
	return hasAction(hp.Actions, DrainAction) || hasAction(hp.Actions, RebootAction)
}

// onlyStage reports whether nothing but staging is to be done.
func (s Steps) onlyStage() bool {
	return len(s.Stage) > 0 && len(s.Write)+len(s.Act)+len(s.Reboot)+len(s.Record)+len(s.Quiet) == 0
}

// markHostChanges marks the scripts among the steps of modules that change a host.
func markHostChanges(steps []Step) []Step {
	out := append([]Step(nil), steps...)
	for i := range out {
		out[i].ChangesHost = out[i].ChangesHost || out[i].Do.Exec != nil
	}
	return out
}

// withHold puts a sequence between taking and releasing the host's hold,
// which lasts as long as everything in between, and more, may take. A sequence
// that brings another OS leaves on the host which OS all pools are to have.
func withHold(t Target, adopt, reason string, roll []Step, newOS bool, more Duration) []Step {
	take := TakeHold{Reason: reason, For: Duration(10*time.Minute) + sumTimeouts(roll) + more, Adopt: adopt, Seen: t.Facts.holdRenewed()}
	if newOS {
		take.Targets, take.Began, take.Number = t.Rollout.Targets, t.Rollout.Run, t.Rollout.Number
	}
	take.From = ranBefore(t, newOS)
	first := Step{Name: "hold", On: t.Host.Name, Do: Op{TakeHold: &take}, Timeout: commandTimeout}
	return append(append([]Step{first}, roll...), releaseStep(t, releaseOfMatching(t.Facts, roll)))
}

// sumTimeouts is how long steps may take.
func sumTimeouts(steps []Step) (total Duration) {
	for _, s := range steps {
		total += s.Timeout
	}
	return total
}

// mostReasons is how many changes a reason names.
const mostReasons = 3

func holdReason(changes []Change) string {
	var parts []string
	for _, c := range changes[:min(mostReasons, len(changes))] {
		parts = append(parts, c.String())
	}
	return strings.Join(AndMore(parts, len(changes)), ", ")
}

// quorumStep asks whether the cluster may lose the host; down says that the
// host's own member may be down already.
func quorumStep(t Target, down bool) []Step {
	if t.Cluster == nil {
		return nil
	}
	return []Step{{Name: "check quorum", On: t.Host.Name, Do: Op{Quorum: &Quorum{Cluster: t.Cluster.Name, Down: down}}, Timeout: commandTimeout}}
}

// leaderSteps move leadership away and then ask once more whether the cluster
// may lose the host: the drain may have taken long.
func leaderSteps(t Target) []Step {
	if t.Cluster == nil {
		return nil
	}
	move := Step{Name: "move etcd leader", On: t.Host.Name, Do: Op{MoveLeader: &MoveLeader{Cluster: t.Cluster.Name}}, Timeout: commandTimeout}
	return append([]Step{move}, quorumStep(t, true)...)
}

func drainStep(t Target) []Step {
	if d := t.Pool.Drain; d != nil && d.Command != "" {
		return []Step{{Name: "drain", On: t.Host.Name, Do: Op{Command: &Local{Command: d.Command, Undo: d.Undo}}, Timeout: cmp.Or(d.Timeout, drainTimeout), ChangesHost: true}}
	}
	return nil
}

// recoverySteps wait until a host is wholly back, and let work return to it if
// the host was drained. One that a person drained stays as it is. Tasks that
// come after follow, or come before the work returns if they disturb it once
// more; then the gates.
func recoverySteps(t Target, of Steps, drained bool) []Step {
	back := backSteps(t, of.Ends)
	steps := back
	disturb := slices.ContainsFunc(of.After, func(s Step) bool { return s.ChangesHost })
	if disturb {
		steps = append(append(slices.Clone(back), of.After...), back...)
	}
	if d := t.Pool.Drain; drained && d != nil && d.Undo != "" {
		steps = append(steps, Step{Name: "undrain", On: t.Host.Name, Do: Op{Command: &Local{Command: d.Undo}}, Timeout: cmp.Or(d.Timeout, drainTimeout), ChangesHost: true})
	}
	if !disturb {
		steps = append(steps, of.After...)
	}
	return append(steps, gateSteps(t.Pool, AfterHost, t.Host.Name)...)
}

// backSteps wait for the host's units and its etcd member.
func backSteps(t Target, ends []string) []Step {
	health := t.Pool.Timeouts.WithDefaults().Health
	units := awaitUnits(t.Facts)
	units.Running = slices.DeleteFunc(slices.Clone(units.Running), func(u string) bool { return slices.Contains(ends, u) })
	steps := []Step{{Name: "wait for units", On: t.Host.Name, Do: Op{AwaitUnits: &units}, Timeout: health}}
	if t.Cluster != nil {
		steps = append(steps, Step{Name: "wait for etcd", On: t.Host.Name, Do: Op{AwaitEtcd: &AwaitEtcd{Cluster: t.Cluster.Name}}, Timeout: health})
	}
	return steps
}

// awaitUnits demands what runs now. Where a run has left its hold, that may be
// less than what ran before; the hold tells.
func awaitUnits(f Facts) AwaitUnits {
	want := AwaitUnits{Running: f.Running, Failed: f.Failed}
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

func gateSteps(p Pool, when GateWhen, on string) []Step {
	var steps []Step
	for _, g := range p.Gates {
		if g.At(when) {
			steps = append(steps, Step{Name: "gate " + g.Name, On: on, Do: Op{Gate: &g}, Timeout: cmp.Or(g.Timeout, gateTimeout)})
		}
	}
	return steps
}
