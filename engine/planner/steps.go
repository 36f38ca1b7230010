package planner

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// Timeouts of steps. A gate without a timeout in the inventory gets its default;
// scriptTimeout bounds the steps that nobody can set.
const (
	defaultGateTimeout = engine.Duration(5 * time.Minute)
	scriptTimeout      = engine.Duration(time.Minute)
)

func stagesOnly(s engine.Steps) bool {
	return len(s.Stage) > 0 && len(s.Write)+len(s.Act)+len(s.Reboot)+len(s.Record)+len(s.NonDisruptive) == 0
}

// markHostChanges returns copies of the steps with ChangesHost set for scripts.
func markHostChanges(steps []engine.Step) []engine.Step {
	marked := slices.Clone(steps)
	for i, s := range marked {
		marked[i].ChangesHost = s.ChangesHost || s.Do.Exec != nil
	}
	return marked
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
// host's own member is already down, and runsOn that the cluster cannot spare it, because the member does not stop.
func quorumStep(t engine.Target, down, runsOn bool) []engine.Step {
	if t.Cluster == nil {
		return nil
	}
	return []engine.Step{{Name: "check quorum", On: t.Host.Name, Do: engine.Op{Quorum: &engine.Quorum{Cluster: t.Cluster.Name, Down: down, RunsOn: runsOn}}, Timeout: scriptTimeout}}
}

// leaderSteps check the quorum again, because the drain may have taken long.
func leaderSteps(t engine.Target, runsOn bool) []engine.Step {
	if t.Cluster == nil {
		return nil
	}
	move := engine.Step{Name: "move etcd leader", On: t.Host.Name, Do: engine.Op{MoveLeader: &engine.MoveLeader{Cluster: t.Cluster.Name}}, Timeout: scriptTimeout}
	return append([]engine.Step{move}, quorumStep(t, true, runsOn)...)
}

// backSteps wait until a host is back.
func backSteps(t engine.Target, ends []string) []engine.Step {
	health := t.Pool.Timeouts.WithDefaults().Health
	units := awaitUnits(t.Facts)
	units.RunningUnits = slices.DeleteFunc(slices.Clone(units.RunningUnits), func(u string) bool { return slices.Contains(ends, u) })
	steps := []engine.Step{{Name: "wait for units", On: t.Host.Name, Do: engine.Op{AwaitUnits: &units}, Timeout: health}}
	if t.Cluster != nil {
		steps = append(steps, engine.Step{Name: "wait for etcd", On: t.Host.Name, Do: engine.Op{AwaitEtcd: &engine.AwaitEtcd{Cluster: t.Cluster.Name}}, Timeout: health})
	}
	return steps
}

// awaitUnits waits until the units are as they were before the first disruption.
// The hold of an earlier run has this state until a run sees the host whole
// again, because the state of now may be the result of a failure.
func awaitUnits(f engine.Facts) engine.AwaitUnits {
	before := holdOfEarlierRun(f)
	if before == nil {
		return engine.AwaitUnits{RunningUnits: f.Running, FailedUnits: f.Failed}
	}
	want := engine.AwaitUnits{RunningUnits: slices.Clone(f.Running), FailedUnits: before.FailedUnits}
	for _, u := range before.Units {
		if !slices.Contains(want.RunningUnits, u) {
			want.RunningUnits = append(want.RunningUnits, u)
		}
	}
	return want
}

// holdOfEarlierRun returns the hold that tells how the host was before a run
// disrupted it: the hold that this run adopts, else the hold that a person ended
// before a run saw the host whole again.
func holdOfEarlierRun(f engine.Facts) *engine.Hold {
	if h := f.Hold; h != nil && h.Kind == engine.RunHold && h.FailedUnits != nil {
		return h
	}
	return f.Unproven
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
