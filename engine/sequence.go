package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Defaults for timeouts that an inventory leaves open.
const (
	stageTimeout    = Duration(30 * time.Minute)
	rebootTimeout   = Duration(20 * time.Minute)
	healthTimeout   = Duration(10 * time.Minute)
	drainTimeout    = Duration(10 * time.Minute)
	gateTimeout     = Duration(5 * time.Minute)
	commandTimeout  = Duration(time.Minute)
	snapshotTimeout = Duration(10 * time.Minute)
)

// WithDefaults fills in what is not set.
func (t Timeouts) WithDefaults() Timeouts {
	t.Stage = cmp.Or(t.Stage, stageTimeout)
	t.Reboot = cmp.Or(t.Reboot, rebootTimeout)
	t.Health = cmp.Or(t.Health, healthTimeout)
	return t
}

// hostPlan composes everything that is done to one host. The roll sequence
// reads as it happens: hold, prove that it is safe, drain, write, move the etcd
// leader, reboot, wait until everything is back, release. What disrupts nothing
// is written without all that, in one step.
func hostPlan(t Target, changes []Change, steps Steps, adopt string) HostPlan {
	hp := HostPlan{
		Host: t.Host.Name, Pool: t.Pool.Name, Cluster: t.Host.Cluster, Zone: t.Host.Zone,
		Adopt: adopt, Changes: changes, Actions: mergeActions(changes, steps.Actions), Stage: steps.Stage,
	}
	if hp.Quiet() && len(steps.Quiet) > 0 {
		hp.Roll = disturbing(steps.Quiet)
		return hp
	}
	if len(changes) == 0 {
		hp.Roll = withHold(t, adopt, "take over what run "+adopt+" left", recoverySteps(t, nil, true))
		return hp
	}
	var roll []Step
	drains := hasAction(hp.Actions, DrainAction) || hasAction(hp.Actions, RebootAction)
	if hp.Disruptive() {
		roll = append(roll, quorumStep(t)...)
		roll = append(roll, gates(t.Pool, BeforeHost, t.Host.Name)...)
	}
	if drains {
		roll = append(roll, drainStep(t)...)
		if len(drainStep(t)) > 0 && len(steps.Reboot) == 0 { // the drain may have taken long
			roll = append(roll, quorumStep(t)...)
		}
	}
	roll = append(roll, disturbing(steps.Write)...)
	if len(steps.Reboot) > 0 {
		roll = append(roll, leaderSteps(t)...)
		roll = append(roll, disturbing(steps.Reboot)...)
	} else {
		roll = append(roll, disturbing(steps.Act)...)
	}
	roll = append(roll, steps.Record...)
	roll = append(roll, recoverySteps(t, steps.Ends, drains || adopt != "")...)
	hp.Roll = withHold(t, adopt, reason(changes), roll)
	return hp
}

// disturbing marks the scripts among the steps of modules that change a host.
func disturbing(steps []Step) []Step {
	out := append([]Step(nil), steps...)
	for i := range out {
		out[i].Disturbs = out[i].Disturbs || out[i].Do.Exec != nil
	}
	return out
}

// withHold puts a sequence between taking and releasing the host's hold,
// which lasts as long as everything in between may take.
func withHold(t Target, adopt, reason string, roll []Step) []Step {
	total := Duration(10 * time.Minute)
	for _, s := range roll {
		total += s.Timeout
	}
	take := Step{Name: "hold", On: t.Host.Name, Do: Op{TakeHold: &TakeHold{Reason: reason, For: total, Adopt: adopt}}, Timeout: commandTimeout}
	free := Step{Name: "release", On: t.Host.Name, Do: Op{Release: &Release{}}, Timeout: commandTimeout}
	return append(append([]Step{take}, roll...), free)
}

// mostReasons is how many changes a reason names.
const mostReasons = 3

func reason(changes []Change) string {
	var parts []string
	for _, c := range changes[:min(mostReasons, len(changes))] {
		parts = append(parts, c.Resource+" "+c.Before+" → "+c.After)
	}
	if more := len(changes) - mostReasons; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

func quorumStep(t Target) []Step {
	if t.Cluster == nil {
		return nil
	}
	return []Step{{Name: "check quorum", On: t.Host.Name, Do: Op{Quorum: &Quorum{Cluster: t.Cluster.Name}}, Timeout: commandTimeout}}
}

// leaderSteps move leadership away and then ask once more whether the cluster
// may lose the host: the drain may have taken long.
func leaderSteps(t Target) []Step {
	if t.Cluster == nil {
		return nil
	}
	move := Step{Name: "move etcd leader", On: t.Host.Name, Do: Op{MoveLeader: &MoveLeader{Cluster: t.Cluster.Name}}, Timeout: commandTimeout}
	return append([]Step{move}, quorumStep(t)...)
}

func drainStep(t Target) []Step {
	if d := t.Pool.Drain; d != nil && d.Command != "" {
		return []Step{{Name: "drain", On: t.Host.Name, Do: Op{Command: &Local{Command: d.Command, Undo: d.Undo}}, Timeout: cmp.Or(d.Timeout, drainTimeout), Disturbs: true}}
	}
	return nil
}

// recoverySteps wait until a host is wholly back, and let work return to it if
// the host was drained. One that a person drained stays as it is.
func recoverySteps(t Target, ends []string, drained bool) []Step {
	health := t.Pool.Timeouts.WithDefaults().Health
	units := awaitUnits(t.Facts)
	units.Running = slices.DeleteFunc(slices.Clone(units.Running), func(u string) bool { return slices.Contains(ends, u) })
	steps := []Step{{Name: "wait for units", On: t.Host.Name, Do: Op{AwaitUnits: &units}, Timeout: health}}
	if t.Cluster != nil {
		steps = append(steps, Step{Name: "wait for etcd", On: t.Host.Name, Do: Op{AwaitEtcd: &AwaitEtcd{Cluster: t.Cluster.Name}}, Timeout: health})
	}
	if d := t.Pool.Drain; drained && d != nil && d.Undo != "" {
		steps = append(steps, Step{Name: "undrain", On: t.Host.Name, Do: Op{Command: &Local{Command: d.Undo}}, Timeout: cmp.Or(d.Timeout, drainTimeout)})
	}
	return append(steps, gates(t.Pool, AfterHost, t.Host.Name)...)
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

func gates(p Pool, when GateWhen, on string) []Step {
	var steps []Step
	for _, g := range p.Gates {
		if g.At(when) {
			steps = append(steps, Step{Name: "gate " + g.Name, On: on, Do: Op{Gate: &g}, Timeout: cmp.Or(g.Timeout, gateTimeout)})
		}
	}
	return steps
}

// mergeActions gives the actions of a host's changes, once each and in order:
// that of a module where it gives one, else that of their types. A reboot
// swallows everything but the drain.
func mergeActions(changes []Change, order []Action) []Action {
	var all []Action
	for _, c := range changes {
		all = append(all, c.Actions...)
	}
	var merged []Action
	reboot := hasAction(all, RebootAction)
	for _, kind := range []ActionType{DrainAction, ReloadDaemon, ReloadUnit, RestartUnit, RebootAction} {
		for _, a := range all {
			swallowed := reboot && kind != DrainAction && kind != RebootAction
			if a.Type == kind && !swallowed && !containsAction(merged, a) {
				merged = append(merged, a)
			}
		}
	}
	if len(merged) == 0 {
		return []Action{{Type: NoAction}}
	}
	if len(order) > 0 && !reboot {
		place := func(a Action) int {
			if i := slices.Index(order, a); i >= 0 && a.Type != DrainAction {
				return i
			}
			return -1 // no module but one gives any but a drain
		}
		slices.SortStableFunc(merged, func(a, b Action) int { return cmp.Compare(place(a), place(b)) })
	}
	return merged
}

// Quiet reports whether the host is changed without being disturbed, so that
// it needs no hold, no seat in its pool's budget and no say of its etcd cluster.
func (hp HostPlan) Quiet() bool {
	return hp.Adopt == "" && len(hp.Changes) > 0 && !hp.Disruptive()
}

// Disruptive reports whether the host is drained or rebooted, or has a unit
// restarted, which may well be the one that others depend on.
func (hp HostPlan) Disruptive() bool {
	return hasAction(hp.Actions, DrainAction) || hasAction(hp.Actions, RestartUnit) || hasAction(hp.Actions, RebootAction)
}

func hasAction(list []Action, t ActionType) bool {
	for _, a := range list {
		if a.Type == t {
			return true
		}
	}
	return false
}

func containsAction(list []Action, a Action) bool {
	for _, b := range list {
		if a == b {
			return true
		}
	}
	return false
}
