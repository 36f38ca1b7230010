package tasks

import (
	"cmp"
	"fmt"
	"strings"

	"holdfast/engine"
)

// taskPlace is the part of the sequence of a host in which a task runs.
type taskPlace int

const (
	beforeDrain taskPlace = iota // before the drain
	beforeWrite                  // after the drain, before files are written
	withActions                  // among the actions
	afterReturn                  // after the host has returned
)

// placedTask is a task with its place in the sequence of one host.
type placedTask struct {
	engine.Task
	list   string // task, pre-task or post-task
	number int    // number in list, from 1
	at     taskPlace
	change bool // the task is a change of its own, and does not only surround other changes
}

// arrangeTasks returns the tasks of a play for a host, in their order in the
// playbook. The host is updated and rebooted once, at the first task that asks
// for an update or a reboot. Non-disruptive tasks at the start of the play run
// before the drain. Those at its end run after the return.
func arrangeTasks(play engine.Play, host string) []placedTask {
	list := tasksOfHost(play.PreTasks, host, "pre-task", beforeDrain)
	all := tasksOfHost(play.Tasks, host, "task", beforeDrain)
	if len(all) == 0 {
		return nil // there is no task to surround
	}
	matching, first, last := -1, -1, -1
	for i, p := range all {
		matches := p.Module == engine.ConfigTask || p.Module == engine.FinalizeTask || p.Module == engine.RebootTask
		if matches && matching < 0 {
			matching = i
		}
		if matches || p.changesHost() {
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	for i, p := range all {
		switch {
		case first < 0:
			p.at, p.change = withActions, true
		case i < first:
		case matching >= 0 && i < matching:
			p.at = beforeWrite
		case matching >= 0 || i > last:
			p.at = afterReturn
		default:
			p.at = withActions
		}
		if p.Module != engine.ConfigTask && p.Module != engine.FinalizeTask {
			list = append(list, p)
		}
	}
	return append(list, tasksOfHost(play.PostTasks, host, "post-task", afterReturn)...)
}

// tasksOfHost omits staging and snapshot tasks, which other parts carry out before everything else.
func tasksOfHost(tasks []engine.Task, host, list string, at taskPlace) []placedTask {
	var some []placedTask
	for i, t := range tasks {
		if !t.Skip[host] && t.Module != engine.StageTask && t.Module != engine.EtcdSnapshotTask {
			p := placedTask{Task: t, list: list, number: i + 1, at: at}
			p.change = p.changesHost()
			some = append(some, p)
		}
	}
	return some
}

func (p placedTask) changesHost() bool {
	switch {
	case p.Command != nil:
		return p.Command.Disrupts || p.Command.Drain
	case p.Service != nil:
		return true
	}
	return p.Module == engine.RebootTask || p.Module == engine.EtcdDefragTask
}

func (p placedTask) asChange(play engine.Play) engine.Change {
	return engine.Change{
		Module: p.Module, Resource: p.resourceName(),
		After: fmt.Sprintf("%s %d of %s", p.list, p.number, cmp.Or(play.Name, play.Hosts)),
		Rule:  "playbook: " + p.Name, Task: true, Reason: p.commandText(), Actions: p.allActions(),
	}
}

func (p placedTask) commandText() string {
	if p.Command == nil {
		return ""
	}
	where := "on the host"
	if p.Command.Bastion {
		where = "on the bastion"
	}
	return "runs " + where + ": " + strings.ReplaceAll(strings.TrimSpace(p.Command.Command), "\n", "; ")
}

func (p placedTask) resourceName() string {
	switch {
	case p.Command != nil:
		return "run " + p.Name
	case p.Service != nil:
		return p.ownActions()[0].String()
	case p.WaitFor != nil:
		return "wait for " + p.Name
	case p.Pause != nil:
		return "pause for " + p.Pause.For.String()
	case p.Module == engine.EtcdDefragTask:
		return "defragment etcd"
	}
	return p.Module
}

func (p placedTask) allActions() []engine.Action {
	drain := p.Command != nil && p.Command.Drain || p.Service != nil && p.Service.Drain || p.Module == engine.RebootTask
	list := p.ownActions()
	if drain {
		list = append([]engine.Action{{Type: engine.DrainAction}}, list...)
	}
	return list
}

func (p placedTask) ownActions() []engine.Action {
	switch {
	case p.Service != nil && p.Service.Reload:
		return []engine.Action{{Type: engine.ReloadUnit, Unit: p.Service.Unit}}
	case p.Service != nil:
		return []engine.Action{{Type: engine.RestartUnit, Unit: p.Service.Unit}}
	case p.Module == engine.RebootTask:
		return []engine.Action{{Type: engine.RebootAction}}
	case p.Module == engine.EtcdDefragTask:
		return []engine.Action{{Type: engine.DefragAction}}
	case p.Command != nil && p.changesHost():
		return []engine.Action{{Type: engine.CommandAction}}
	}
	return []engine.Action{{Type: engine.NoAction}}
}
