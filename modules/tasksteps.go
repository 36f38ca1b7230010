package modules

import (
	"cmp"
	_ "embed" // scripts
	"errors"
	"slices"
	"strconv"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/rules"
)

var (
	//go:embed sh/taskcommand.sh
	taskCommandScript string
	//go:embed sh/taskservice.sh
	taskServiceScript string
)

// How long tasks may take whose playbook does not say.
const (
	defaultCommandTimeout = engine.Duration(5 * time.Minute)
	defaultWaitTimeout    = engine.Duration(5 * time.Minute)
	// defragTimeout is more than etcd takes for the 8 GiB that it is said to work
	// well with at most, on a disk that writes 20 MB a second.
	defragTimeout = engine.Duration(10 * time.Minute)
	// stepMargin is what a step has beyond what the host itself allows its deed.
	stepMargin = engine.Duration(time.Minute)
)

var errNoBootID = errors.New("its boot ID is not known, so a reboot could not be told")

// stepsOfTasks gives the steps of tasks that are done one after the other at a
// place. Before every one that disrupts a member, leadership moves off it and
// its cluster is asked, whatever was asked before: only right before the first
// action the engine does that. Then the member is waited for, also by the engine
// where nothing follows, but not after a command: it may have stopped the member
// for what the next one does.
func stepsOfTasks(t engine.Target, list []placedTask) (steps []engine.Step) {
	for i, p := range list {
		disrupts := t.Cluster != nil && needsHold(p.allActions())
		if disrupts && (i > 0 || p.at != withActions) {
			steps = append(steps, etcdCheckSteps(t)...)
		}
		steps = append(steps, p.taskSteps(t)...)
		if disrupts && p.Command == nil && (i < len(list)-1 || p.at == beforeWrite) {
			steps = append(steps, engine.Step{
				Name: "wait for etcd", On: t.Host.Name, Do: engine.Op{AwaitEtcd: &engine.AwaitEtcd{Cluster: t.Cluster.Name}}, Timeout: t.Pool.Timeouts.WithDefaults().Health,
			})
		}
	}
	return steps
}

// etcdCheckSteps moves leadership off the host and asks whether its cluster may lose it.
func etcdCheckSteps(t engine.Target) []engine.Step {
	on, name := t.Host.Name, t.Cluster.Name
	return []engine.Step{
		{Name: "move etcd leader", On: on, Do: engine.Op{MoveLeader: &engine.MoveLeader{Cluster: name}}, Timeout: stepMargin},
		{Name: "check quorum", On: on, Do: engine.Op{Quorum: &engine.Quorum{Cluster: name, Down: true}}, Timeout: stepMargin},
	}
}

// taskSteps carry out the task, each under the task's name. Those of a reboot are
// not among them.
func (p placedTask) taskSteps(t engine.Target) []engine.Step {
	switch {
	case p.Command != nil && p.Command.Bastion:
		return []engine.Step{{
			Name: p.Name, On: t.Host.Name, Do: engine.Op{Command: &engine.Local{Command: p.Command.Command}},
			Timeout: cmp.Or(p.Command.Timeout, defaultCommandTimeout), ChangesHost: p.changesHost(),
		}}
	case p.Command != nil:
		return []engine.Step{p.hostCommand(t)}
	case p.Service != nil:
		return []engine.Step{p.serviceStep(t)}
	case p.WaitFor != nil:
		limit := cmp.Or(p.WaitFor.Timeout, defaultWaitTimeout)
		return []engine.Step{{Name: p.Name, On: t.Host.Name, Do: engine.Op{Gate: waitGate(p.Name, *p.WaitFor, limit)}, Timeout: limit}}
	case p.Pause != nil:
		return []engine.Step{{Name: p.Name, On: t.Host.Name, Do: engine.Op{Pause: p.Pause}, Timeout: p.Pause.For + stepMargin}}
	case p.Module == engine.EtcdDefragTask:
		return p.defragSteps(t)
	}
	return nil
}

// hostCommand runs the command on the host, which ends it with what it has
// started where it takes too long; only what has left its process group
// escapes that. It may not run twice where its answer is lost. Where it is not
// for disrupting, the host is as it was, by what the playbook says, whether or
// not it fails: there is a way back.
func (p placedTask) hostCommand(t engine.Target) engine.Step {
	limit, failed := cmp.Or(p.Command.Timeout, defaultCommandTimeout), hostscript.ScriptCannot
	if p.changesHost() {
		failed = hostscript.ScriptActed
	}
	s := script{
		vars: map[string]string{
			"command": p.Command.Command, "limit": inSeconds(limit), "within": limit.String(), "failed": strconv.Itoa(failed),
		},
		text: taskCommandScript,
	}
	step := hostStep(t, p.Name, strict+p.holdCheck(t)+s.String(), limit+stepMargin)
	step.Do.Exec.Once, step.Do.Exec.Display, step.ChangesHost = true, p.Command.Command, p.changesHost()
	return step
}

// serviceStep restarts or reloads the unit if it runs. One that the host does not
// have, or has masked, is refused.
func (p placedTask) serviceStep(t engine.Target) engine.Step {
	do := rules.Action{Action: p.ownActions()[0], Timeout: p.Service.Timeout}
	s := script{
		vars: map[string]string{"verb": string(do.Type), "unit": do.Unit},
		text: taskServiceScript + actionScript + actLine(0, do),
	}
	step := hostStep(t, p.Name, strict+p.holdCheck(t)+s.String(), actionScriptTimeout(do))
	step.Do.Exec.Display, step.ChangesHost = "systemctl "+string(do.Type)+" "+do.Unit, true
	return step
}

// holdCheck gives the lines that check the hold: a task that disrupts needs the
// run's, any other leaves alone what somebody else holds.
func (p placedTask) holdCheck(t engine.Target) string {
	if needsHold(p.allActions()) {
		return hostscript.CheckHoldSnippet(t.Owner())
	}
	return hostscript.CheckFreeSnippet(allowedHolders(t)...)
}

// needsHold reports whether a host is disrupted by what these actions do.
func needsHold(actions []engine.Action) bool {
	return slices.ContainsFunc(actions, func(a engine.Action) bool {
		return a.Type != engine.NoAction && a.Type != engine.ReloadUnit
	})
}

func (p placedTask) defragSteps(t engine.Target) []engine.Step {
	if t.Cluster == nil {
		return nil
	}
	return []engine.Step{{
		Name: p.Name, On: t.Host.Name, Do: engine.Op{Defragment: &engine.Defragment{Cluster: t.Cluster.Name}}, Timeout: defragTimeout, ChangesHost: true,
	}}
}

// taskReboot reboots the host into the OS that it runs. Its steps are named as
// those of other reboots: by the name a later run knows from the journal that it
// has to wait for the host.
func taskReboot(t engine.Target) []engine.Step {
	steps := rebootPlain(t)
	for i, s := range steps {
		if booted := t.Facts.Booted(); s.Do.AwaitBoot != nil && booted != nil {
			wait := *s.Do.AwaitBoot
			wait.Digest = booted.Digest
			steps[i].Do.AwaitBoot = &wait
		}
	}
	return steps
}

// inSeconds gives whole seconds, for timeout(1): at least one.
func inSeconds(d engine.Duration) string {
	return strconv.FormatInt(max(1, int64((time.Duration(d)+time.Second-1)/time.Second)), 10)
}
