package simulator

import (
	"errors"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/rollout"
)

// The commands of plays. They run on the bastion, and the second one is
// disruptive.
const (
	PlainCommand      = "work"
	DisruptingCommand = "upset"
)

// NewPlay prepares a play for a run. Its field Hosts is a list of pools,
// separated by commas. Its tasks may be stage, config, finalize, reboot and the
// commands above.
func NewPlay(p engine.Play) rollout.Play {
	os, settings, operations := Module(), Settings(), playOperations{p}
	os.Changes, settings.Changes = playOS{p}, playSettings{p}
	return rollout.Play{
		Play: p, Modules: []engine.Module{os, settings, {Name: "deeds", Changes: operations, Tasks: operations}},
		Selected: func(h engine.Host) bool { return selectsHost(p, h) },
	}
}

func selectsHost(p engine.Play, h engine.Host) bool {
	return slices.Contains(strings.Split(p.Hosts, ","), h.Pool)
}

// playOS updates the OS with the tasks of a play.
type playOS struct{ play engine.Play }

// Diff compares the OS. A play that only stages skips hosts on which the OS is
// staged.
func (m playOS) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	stages, finalizes := m.play.Has(engine.StageTask), m.play.Has(engine.FinalizeTask)
	if !stages && !finalizes {
		return engine.Difference{}, nil
	}
	x, err := osModule{}.Diff(d, f)
	if finalizes || err != nil || len(x.Changes) == 0 {
		return x, err
	}
	if f.Ready(d.OS.Digest(), "") {
		return engine.Difference{}, nil
	}
	x.Changes[0].Rule, x.Changes[0].Actions = "it is only staged", []engine.Action{{Type: engine.NoAction}}
	x.Steps = stageOnly
	return x, nil
}

func stageOnly(t engine.Target, changes []engine.Change) engine.Steps {
	return engine.Steps{Stage: updateSteps(t, changes).Stage}
}

// playSettings changes the setting if a play has a config task.
type playSettings struct{ play engine.Play }

// Diff compares the setting with the desired one.
func (m playSettings) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	if !m.play.Has(engine.ConfigTask) {
		return engine.Difference{}, nil
	}
	return settings{}.Diff(d, f)
}

// playOperations carries out commands and reboots, once on each host of a run.
type playOperations struct{ play engine.Play }

// Diff returns the operations that the run has not carried out yet.
func (m playOperations) Diff(_ engine.Desired, f engine.Facts) (engine.Difference, error) {
	var changes []engine.Change
	for _, t := range m.play.Tasks {
		actions := []engine.Action{{Type: engine.NoAction}}
		switch {
		case f.Finished, !isOperation(t), !disruptsHost(t) && !m.isNonDisruptive():
			continue
		case t.Module == engine.RebootTask && f.BootID == "":
			return engine.Difference{}, errors.New("its boot is not known")
		case t.Module == engine.RebootTask:
			actions = rebootActions()
		case disruptsHost(t):
			actions = []engine.Action{{Type: engine.CommandAction}}
		}
		changes = append(changes, engine.Change{Module: t.Module, Resource: t.Name, After: "task of " + m.play.Name, Rule: "playbook", Task: true, Actions: actions})
	}
	return engine.Difference{Changes: changes, Steps: m.planSteps}, nil
}

func (m playOperations) planSteps(t engine.Target, _ []engine.Change) (s engine.Steps) {
	for _, task := range m.play.Tasks {
		switch {
		case task.Module == engine.RebootTask:
			s.Reboot = rebootSteps(t, plain)
		case disruptsHost(task):
			s.Act = append(s.Act, operationStep(t, task))
		case isOperation(task) && m.isNonDisruptive():
			s.NonDisruptive = append(s.NonDisruptive, operationStep(t, task))
		}
	}
	return s
}

// TasksAround returns the non-disruptive commands, if the play also has
// disruptive operations.
func (m playOperations) TasksAround(t engine.Target) (before, after []engine.Step) {
	for _, task := range m.play.Tasks {
		if isOperation(task) && !disruptsHost(task) && !m.isNonDisruptive() {
			before = append(before, operationStep(t, task))
		}
	}
	return before, nil
}

func (m playOperations) isNonDisruptive() bool {
	return !slices.ContainsFunc(m.play.Tasks, func(t engine.Task) bool { return !isOperation(t) || disruptsHost(t) })
}

func isOperation(t engine.Task) bool { return t.Command != nil || t.Module == engine.RebootTask }

func disruptsHost(t engine.Task) bool {
	return t.Module == engine.RebootTask || t.Command != nil && t.Command.Disrupts
}

func operationStep(t engine.Target, task engine.Task) engine.Step {
	return engine.Step{
		Name: task.Name, On: t.Host.Name, Do: engine.Op{Command: &engine.Local{Command: task.Command.Command}},
		Timeout: engine.Duration(actionLimit), ChangesHost: disruptsHost(task),
	}
}
