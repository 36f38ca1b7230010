package tasks

import (
	"cmp"
	_ "embed" // embeds scripts
	"errors"
	"slices"
	"strconv"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/rules"
	"holdfast/modules/hostconfig"
	"holdfast/modules/shell"
)

var (
	//go:embed sh/command.sh
	taskCommandScript string
	//go:embed sh/service.sh
	taskServiceScript string
)

var (
	commandText = engine.ShareText(taskCommandScript)
	serviceText = engine.ShareText(taskServiceScript)
)

// These are the timeouts of tasks whose playbook sets none.
const (
	defaultCommandTimeout = engine.Duration(5 * time.Minute)
	defaultWaitTimeout    = engine.Duration(5 * time.Minute)
	// defragTimeout is longer than etcd needs for 8 GiB, its recommended maximum,
	// on a disk that writes 20 MB/s.
	defragTimeout = engine.Duration(10 * time.Minute)
	// stepMargin is how much longer the timeout of a step is than the timeout on
	// the host.
	stepMargin = engine.Duration(time.Minute)
)

var errNoBootID = errors.New("its boot ID is unknown, so a reboot could not be recognised")

// stepsOfTasks returns the steps of tasks that run one after the other in one
// place. Before each task that disrupts a member, a step moves the leadership
// away, and another checks the quorum of the cluster. The engine does both only
// before the first action. After the task, a step waits for the member. The
// engine does this only after the last action. After a command, no step waits,
// because the command may have stopped the member for the next task.
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

func etcdCheckSteps(t engine.Target) []engine.Step {
	on, name := t.Host.Name, t.Cluster.Name
	return []engine.Step{
		{Name: "move etcd leader", On: on, Do: engine.Op{MoveLeader: &engine.MoveLeader{Cluster: name}}, Timeout: stepMargin},
		{Name: "check quorum", On: on, Do: engine.Op{Quorum: &engine.Quorum{Cluster: name, Down: true}}, Timeout: stepMargin},
	}
}

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

// hostCommand returns the step that runs the command on the host. After the
// timeout, the host kills the command with its process group. Processes that have
// left the group survive. The command does not run twice if its answer is lost.
// If the playbook declares the command as non-disruptive, the host counts as
// unchanged even after a failure, and the run can go back.
func (p placedTask) hostCommand(t engine.Target) engine.Step {
	limit, failed := cmp.Or(p.Command.Timeout, defaultCommandTimeout), hostscript.ScriptCannot
	if p.changesHost() {
		failed = hostscript.ScriptActionFailed
	}
	s := shell.Script{
		Vars: map[string]string{
			"command": p.Command.Command, "limit": inSeconds(limit), "within": limit.String(), "failed": strconv.Itoa(failed),
		},
		Text: shell.Text(commandText),
	}
	step := shell.Step(t, p.Name, shell.BuildStrict(p.holdCheck(t), s), limit+stepMargin)
	step.Do.Exec.Once, step.Do.Exec.Display, step.ChangesHost = true, p.Command.Command, p.changesHost()
	return step
}

func (p placedTask) serviceStep(t engine.Target) engine.Step {
	do := rules.Action{Action: p.ownActions()[0], Timeout: p.Service.Timeout}
	s := shell.Script{
		Vars: map[string]string{"verb": string(do.Type), "unit": do.Unit},
		Text: append(shell.Text(serviceText), hostconfig.ActionSnippet(do)...),
	}
	step := shell.Step(t, p.Name, shell.BuildStrict(p.holdCheck(t), s), hostconfig.ActionStepTimeout(do))
	step.Do.Exec.Display, step.ChangesHost = "systemctl "+string(do.Type)+" "+do.Unit, true
	return step
}

// holdCheck returns the script that checks the hold. A disruptive task needs the
// hold of the run. For any other task, nobody else may hold the host.
func (p placedTask) holdCheck(t engine.Target) engine.Script {
	if needsHold(p.allActions()) {
		return hostscript.CheckHoldSnippet(t.Owner())
	}
	return hostscript.CheckFreeSnippet(shell.AllowedHolders(t))
}

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

func inSeconds(d engine.Duration) string {
	return strconv.FormatInt(max(1, int64((time.Duration(d)+time.Second-1)/time.Second)), 10)
}
