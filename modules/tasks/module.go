package tasks

import (
	"maps"
	"slices"

	"holdfast/engine"
	"holdfast/modules/hoststate"
)

// ForPlay returns the modules of a play, in the order in which a host is
// changed. They use the probes of All. They return the changes that make a host
// match only if the play has a task for them: "config" for the configuration,
// "finalize" for the OS and kernel arguments, "stage" to put those on disk.
//
// All other tasks are carried out once on each host of a run: they return a
// change until Facts.Finished. In a play without disruptive and matching tasks
// every task returns a change. In other plays, non-disruptive tasks return
// none, and are carried out only on hosts that another task changes. Tasks
// before the actions are not repeated after an action has failed. These tasks,
// and pre_tasks and post_tasks, come from the last module, which is also
//
//	type Surround interface { Around(Target) (before, after []Step) }
//
// for hosts that have changes.
//
// A play with etcd_defrag goes through SkipNonMembers first.
func ForPlay(play engine.Play) []engine.Module {
	return []engine.Module{
		hoststate.Module{}, taskOS{play: play}, tasks{play, true}, taskConfig{play: play}, surroundingTasks{tasks{play, false}},
	}
}

// SkipNonMembers returns the play in which hosts that are members of no etcd
// cluster skip the tasks for their cluster.
func SkipNonMembers(play engine.Play, inv engine.Inventory) engine.Play {
	tasks := make([]engine.Task, len(play.Tasks))
	for i, t := range play.Tasks {
		if t.Module == engine.EtcdDefragTask {
			skip := map[string]bool{}
			maps.Copy(skip, t.Skip)
			for _, h := range inv.Hosts {
				if h.Cluster == "" {
					skip[h.Name] = true
				}
			}
			t.Skip = skip
		}
		tasks[i] = t
	}
	play.Tasks = tasks
	return play
}

// tasks is the module for tasks that are carried out once on each host of a
// run. The early ones run before files are written.
type tasks struct {
	play  engine.Play
	early bool
}

// Name is the module's name in errors. A change has the name of its task
// instead.
func (tasks) Name() string { return "tasks" }

// Probe returns no commands.
func (tasks) Probe(engine.Desired) []engine.Command { return nil }

// Read adds nothing to the facts.
func (tasks) Read(_ engine.Desired, _ engine.Outputs, f engine.Facts) engine.Facts { return f }

// Diff returns the tasks that are left to do on the host, without those that
// only surround others.
func (m tasks) Diff(_ engine.Desired, f engine.Facts) ([]engine.Change, error) {
	if f.Finished {
		return nil, nil
	}
	var changes []engine.Change
	for _, p := range arrangeTasks(m.play, f.Host) {
		if !p.change || m.early != (p.at == beforeWrite) || m.early && f.ActionFailed {
			continue
		}
		if p.Module == engine.RebootTask && f.BootID == "" {
			return nil, errNoBootID
		}
		changes = append(changes, p.asChange(m.play))
	}
	return changes, nil
}

// Steps carry out the tasks that have changes, and the tasks between them.
// Steps that run without a hold are set only if no task needs one.
func (m tasks) Steps(t engine.Target, changes []engine.Change) engine.Steps {
	var s engine.Steps
	if len(changes) == 0 {
		return s
	}
	var early, late []placedTask
	for _, p := range arrangeTasks(m.play, t.Host.Name) {
		switch {
		case p.Module == engine.RebootTask && !m.early && p.change:
			s.Reboot = taskReboot(t)
		case p.at == beforeWrite && m.early:
			early = append(early, p)
		case p.at == withActions && !m.early:
			late = append(late, p)
			s.Actions = append(s.Actions, p.ownActions()...)
		}
	}
	s.Write, s.Act = stepsOfTasks(t, early), stepsOfTasks(t, late)
	if !slices.ContainsFunc(changes, func(c engine.Change) bool { return needsHold(c.Actions) }) {
		s.NonDisruptive = append(slices.Clone(s.Write), s.Act...)
	}
	return s
}

// surroundingTasks is the module for the tasks that are not early, and for the
// tasks before and after the changes of a host.
type surroundingTasks struct{ tasks }

// TasksAround returns the steps before the changes of a host, and those after its
// return. It omits tasks that are done already.
func (m surroundingTasks) TasksAround(t engine.Target) (before, after []engine.Step) {
	var first, last []placedTask
	for _, p := range arrangeTasks(m.play, t.Host.Name) {
		switch {
		case p.change && t.Facts.Finished, p.at == beforeDrain && t.Facts.ActionFailed:
		case p.at == beforeDrain:
			first = append(first, p)
		case p.at == afterReturn && p.Module != engine.RebootTask:
			last = append(last, p)
		}
	}
	return stepsOfTasks(t, first), stepsOfTasks(t, last)
}
