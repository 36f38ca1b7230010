package tasks

import (
	"maps"
	"slices"

	"holdfast/engine"
	"holdfast/modules/hostconfig"
	"holdfast/modules/hoststate"
	"holdfast/modules/osimage"
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
// after an action has failed. The last module also surrounds the changes of a
// host with the pre_tasks, the post_tasks and the non-disruptive tasks.
//
// A play with etcd_defrag must pass through SkipNonMembers first.
func ForPlay(play engine.Play) []engine.Module {
	os, config, late := osimage.Module(), hostconfig.Module(), tasks{play, false}
	os.Changes, config.Changes = taskOS{os.Changes, play}, taskConfig{config.Changes, play}
	return []engine.Module{
		hoststate.Module(), os, {Name: tasksName, Changes: tasks{play, true}}, config, {Name: tasksName, Changes: late, Tasks: late},
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

// tasksName is the name of modules in errors. A change has the name of its task
// instead.
const tasksName = "tasks"

// tasks plans the tasks that run once on each host of a run. If early, it has
// the tasks that run before files are written.
type tasks struct {
	play  engine.Play
	early bool
}

// Diff returns the tasks that are left to do on the host. It omits tasks that
// only surround the changes of others.
func (m tasks) Diff(_ engine.Desired, f engine.Facts) (engine.Difference, error) {
	if f.Finished {
		return engine.Difference{}, nil
	}
	var changes []engine.Change
	for _, p := range arrangeTasks(m.play, f.Host) {
		if !p.change || m.early != (p.at == beforeWrite) || m.early && f.ActionFailed {
			continue
		}
		if p.Module == engine.RebootTask && f.BootID == "" {
			return engine.Difference{}, errNoBootID
		}
		changes = append(changes, p.asChange(m.play))
	}
	return engine.Difference{Changes: changes, Steps: m.planSteps}, nil
}

// planSteps sets steps without a hold only if no task needs a hold.
func (m tasks) planSteps(t engine.Target, changes []engine.Change) engine.Steps {
	var s engine.Steps
	var early, late []placedTask
	for _, p := range arrangeTasks(m.play, t.Host.Name) {
		switch {
		case p.Module == engine.RebootTask && !m.early && p.change:
			s.Reboot = osimage.PlainReboot(t)
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

// TasksAround returns the steps before the changes of a host, and the steps after
// the host has returned. It omits tasks that are finished.
func (m tasks) TasksAround(t engine.Target) (before, after []engine.Step) {
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
