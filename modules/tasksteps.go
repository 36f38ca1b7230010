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
	commandTime = engine.Duration(5 * time.Minute)
	waitTime    = engine.Duration(5 * time.Minute)
	// defragTime is more than etcd takes for the 8 GiB that it is said to work
	// well with at most, on a disk that writes 20 MB a second.
	defragTime = engine.Duration(10 * time.Minute)
	// longer is what a step has beyond what the host itself allows its deed.
	longer = engine.Duration(time.Minute)
)

var errNoBootID = errors.New("its boot ID is not known, so a reboot could not be told")

// carryOut gives the steps of tasks that are done one after the other at a
// place. Before every one that disrupts a member, leadership moves off it and
// its cluster is asked, whatever was asked before: only right before the first
// action the engine does that. Then the member is waited for, also by the engine
// where nothing follows, but not after a command: it may have stopped the member
// for what the next one does.
func carryOut(t engine.Target, list []placed) (steps []engine.Step) {
	for i, p := range list {
		disrupts := t.Cluster != nil && needsHold(p.allActions())
		if disrupts && (i > 0 || p.at != inPlace) {
			steps = append(steps, askEtcd(t)...)
		}
		steps = append(steps, p.steps(t)...)
		if disrupts && p.Command == nil && (i < len(list)-1 || p.at == writing) {
			steps = append(steps, engine.Step{
				Name: "wait for etcd", On: t.Host.Name, Do: engine.Op{AwaitEtcd: &engine.AwaitEtcd{Cluster: t.Cluster.Name}}, Timeout: t.Pool.Timeouts.WithDefaults().Health,
			})
		}
	}
	return steps
}

// askEtcd moves leadership off the host and asks whether its cluster may lose it.
func askEtcd(t engine.Target) []engine.Step {
	on, name := t.Host.Name, t.Cluster.Name
	return []engine.Step{
		{Name: "move etcd leader", On: on, Do: engine.Op{MoveLeader: &engine.MoveLeader{Cluster: name}}, Timeout: longer},
		{Name: "check quorum", On: on, Do: engine.Op{Quorum: &engine.Quorum{Cluster: name, Down: true}}, Timeout: longer},
	}
}

// steps carry out the task, each under the task's name. Those of a reboot are
// not among them.
func (p placed) steps(t engine.Target) []engine.Step {
	switch {
	case p.Command != nil && p.Command.Bastion:
		return []engine.Step{{
			Name: p.Name, On: t.Host.Name, Do: engine.Op{Command: &engine.Local{Command: p.Command.Command}},
			Timeout: cmp.Or(p.Command.Timeout, commandTime), ChangesHost: p.disturbs(),
		}}
	case p.Command != nil:
		return []engine.Step{p.hostCommand(t)}
	case p.Service != nil:
		return []engine.Step{p.service(t)}
	case p.WaitFor != nil:
		limit := cmp.Or(p.WaitFor.Timeout, waitTime)
		return []engine.Step{{Name: p.Name, On: t.Host.Name, Do: engine.Op{Gate: waitGate(p.Name, *p.WaitFor, limit)}, Timeout: limit}}
	case p.Pause != nil:
		return []engine.Step{{Name: p.Name, On: t.Host.Name, Do: engine.Op{Pause: p.Pause}, Timeout: p.Pause.For + longer}}
	case p.Module == engine.EtcdDefragTask:
		return p.defragment(t)
	}
	return nil
}

// hostCommand runs the command on the host, which ends it with what it has
// started where it takes too long; only what has left its process group
// escapes that. It may not run twice where its answer is lost. Where it is not
// for disrupting, the host is as it was, by what the playbook says, whether or
// not it fails: there is a way back.
func (p placed) hostCommand(t engine.Target) engine.Step {
	limit, failed := cmp.Or(p.Command.Timeout, commandTime), hostscript.ScriptCannot
	if p.disturbs() {
		failed = hostscript.ScriptActed
	}
	s := script{
		vars: map[string]string{
			"command": p.Command.Command, "limit": inSeconds(limit), "within": limit.String(), "failed": strconv.Itoa(failed),
		},
		text: taskCommandScript,
	}
	step := onHost(t, p.Name, strict+p.allowed(t)+s.String(), limit+longer)
	step.Do.Exec.Once, step.Do.Exec.Display, step.ChangesHost = true, p.Command.Command, p.disturbs()
	return step
}

// service restarts or reloads the unit if it runs. One that the host does not
// have, or has masked, is refused.
func (p placed) service(t engine.Target) engine.Step {
	do := rules.Action{Action: p.actions()[0], Timeout: p.Service.Timeout}
	s := script{
		vars: map[string]string{"verb": string(do.Type), "unit": do.Unit},
		text: taskServiceScript + actionScript + actLine(0, do),
	}
	step := onHost(t, p.Name, strict+p.allowed(t)+s.String(), actionTime(do))
	step.Do.Exec.Display, step.ChangesHost = "systemctl "+string(do.Type)+" "+do.Unit, true
	return step
}

// allowed gives the lines that check the hold: a task that disrupts needs the
// run's, any other leaves alone what somebody else holds.
func (p placed) allowed(t engine.Target) string {
	if needsHold(p.allActions()) {
		return hostscript.CheckHoldSnippet(t.Owner())
	}
	return hostscript.CheckFreeSnippet(holders(t)...)
}

// needsHold reports whether a host is disrupted by what these actions do.
func needsHold(actions []engine.Action) bool {
	return slices.ContainsFunc(actions, func(a engine.Action) bool {
		return a.Type != engine.NoAction && a.Type != engine.ReloadUnit
	})
}

func (p placed) defragment(t engine.Target) []engine.Step {
	if t.Cluster == nil {
		return nil
	}
	return []engine.Step{{
		Name: p.Name, On: t.Host.Name, Do: engine.Op{Defragment: &engine.Defragment{Cluster: t.Cluster.Name}}, Timeout: defragTime, ChangesHost: true,
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
