package tasks

import (
	"maps"
	"slices"

	"holdfast/engine"
	"holdfast/modules/hoststate"
)

// ForPlay returns the modules of a play, in the order in which they change a
// host. They use the same probes as All. The first modules return the changes
// that make a host match, and only if the play has a task for them: "config" for
// the configuration, "finalize" for the OS and kernel arguments, "stage" to stage
// these.
//
// The other modules carry out all other tasks, once on each host of a run. They
// return a change for a task until Facts.Finished. In a play that has no
// disruptive task and no task that makes a host match, every task returns a
// change. In other plays, non-disruptive tasks return no change, and run only on
// hosts that another task changes. Tasks before the actions are not repeated
// after an action has failed. The last module is an engine.TaskModule: it also
// returns the pre_tasks, the post_tasks and the non-disruptive tasks around the
// changes of a host.
//
// A play with etcd_defrag must pass through SkipNonMembers first.
func ForPlay(play engine.Play) []engine.Module {
	return []engine.Module{
		hoststate.Module{}, taskOS{play: play}, tasks{play, true}, taskConfig{play: play}, surroundingTasks{tasks{play, false}},
	}
}

// SkipNonMembers returns the play in which hosts without an etcd cluster skip the
// tasks for their cluster.
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

// tasks is the module for tasks that run once on each host of a run. If early, it
// has the tasks that run before files are written.
type tasks struct {
	play  engine.Play
	early bool
}

// Name returns the name of the module in errors. A change has the name of its
// task instead.
func (tasks) Name() string { return "tasks" }

// Probe returns no commands.
func (tasks) Probe(engine.Desired) []engine.Command { return nil }

// Read adds nothing to the facts.
func (tasks) Read(_ engine.Desired, _ engine.Outputs, f engine.Facts) engine.Facts { return f }

// Diff returns the tasks that are left to do on the host. It omits tasks that
// only surround the changes of others.
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

// Steps returns the steps of tasks that have changes, and of the tasks between
// them. It sets steps without a hold only if no task needs a hold.
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
// tasks around the changes of a host.
type surroundingTasks struct{ tasks }

// TasksAround returns the steps before the changes of a host, and the steps after
// the host has returned. It omits tasks that are finished.
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
