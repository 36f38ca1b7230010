package modules

import (
	"maps"
	"slices"

	"holdfast/engine"
)

// ForPlay gives the modules of a play, in the order in which a host is changed.
// They look at what those of All look at, and what makes a host match gives
// changes only as far as the play has a task for it: "config" for the
// configuration, "finalize" for the OS and kernel arguments, "stage" for
// putting those on disk.
//
// All other tasks are carried out once on each host of a run: they give a change
// until Facts.Finished. A play whose tasks disturb nothing and make nothing
// match gives one for each of them; in other plays those that disturb nothing
// happen only on hosts on which something else does, and give none. What comes
// before the actions is not done again where one of these has failed. That, and
// pre_tasks and post_tasks, comes from the last of the modules, which is also
//
//	type Surround interface { Around(Target) (before, after []Step) }
//
// for hosts that have changes.
//
// A play with etcd_defrag goes through SkipNonMembers first.
func ForPlay(play engine.Play) []engine.Module {
	return []engine.Module{
		system{}, taskOS{play: play}, tasks{play, true}, taskConfig{play: play}, surroundingTasks{tasks{play, false}},
	}
}

// SkipNonMembers is the play as it is for a site: hosts that are members of no etcd
// cluster skip the tasks that are about theirs.
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

// tasks are those tasks of a play that are carried out once on each host of a
// run: the early ones are in place of a write, before files are written.
type tasks struct {
	play  engine.Play
	early bool
}

// Name is the module's name in errors. Changes have that of their task.
func (tasks) Name() string { return "tasks" }

// Probe lists nothing to look at.
func (tasks) Probe(engine.Desired) []engine.Command { return nil }

// Read adds nothing to the facts.
func (tasks) Read(_ engine.Desired, _ engine.Outputs, f engine.Facts) engine.Facts { return f }

// Diff gives the tasks that are left to do on the host, but for those that only
// surround the others.
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

// Steps carry out the tasks that have changes, and what is between them.
// Without a hold that is done only if none of them needs one.
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
		s.Quiet = append(slices.Clone(s.Write), s.Act...)
	}
	return s
}

// surroundingTasks are the tasks that are not early, with those that surround
// what is done to a host.
type surroundingTasks struct{ tasks }

// Around gives what is done on a host before its changes are made, and when it
// is back. Tasks that have been carried out are not among it.
func (m surroundingTasks) Around(t engine.Target) (before, after []engine.Step) {
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
