package playbook

import (
	"slices"

	"holdfast/engine"
)

// module describes the operation and the arguments of a task.
type module struct {
	name         string
	arguments    []field
	mainArgument string   // the argument that a plain text sets
	oneOf        []string // exactly one of these arguments is required
	inPreTasks   bool     // allowed in pre_tasks
	inPostTasks  bool     // allowed in post_tasks
	meaning      string
	build        func(*loader, arguments, *engine.Task) // nil if the module has no arguments
}

// allModules returns all modules in the order of the reference.
func allModules() []module {
	return append(modulesWithoutArguments(), modulesWithArguments()...)
}

// modulesWithoutArguments returns the modules that bring a host to a desired
// state.
func modulesWithoutArguments() []module {
	return []module{
		{name: engine.StageTask, meaning: "Puts the OS that the inventory names on disk while everything runs. Disturbs nothing, and is done for all hosts of the play before the first batch."},
		{name: engine.ConfigTask, meaning: "Makes files, units and users what the configurations say, with what their rules ask for, up to a drain and a reboot. Leaves the OS and kernel arguments alone."},
		{name: engine.FinalizeTask, meaning: "Makes the OS and the kernel arguments what the inventory says, with the reboot that it takes. What is not staged is staged first."},
		{name: engine.RebootTask, meaning: "Drains and reboots the host, whether it matches or not. With `config` or `finalize` in the same play, it is one reboot."},
		{name: engine.EtcdSnapshotTask, inPreTasks: true, meaning: "Saves the etcd clusters of the play's hosts to the bastion, once in a run, before anything is disturbed; also where the inventory says `snapshot = false`. Without it, a cluster is saved before the first of its members is disrupted."},
		{name: engine.EtcdDefragTask, meaning: "Defragments the etcd member of the host: one member of a cluster at a time, the leader last. Hosts without a member are passed over."},
	}
}

// modulesWithArguments returns the modules that run once on each host of a
// run.
func modulesWithArguments() []module {
	timeout := func(after string) field {
		return field{name: "timeout", kind: durationKind, fallback: after, meaning: "after which it has failed"}
	}
	return []module{
		{name: engine.ServiceTaskName, build: buildService, meaning: "Restarts or reloads a systemd unit where it runs. A host that has no such unit, or has it masked, fails.", arguments: []field{
			{name: "name", kind: templateKind, required: true, meaning: "of the unit; without an ending it is a `.service`"},
			{name: "state", kind: choiceKind, choices: []string{"restarted", "reloaded"}, required: true, meaning: "what is done to it"},
			{name: "drain", kind: boolKind, fallback: "false", meaning: "work is moved off the host before, and let back after"},
			timeout("2m"),
		}},
		{name: engine.CommandTaskName, build: buildCommand, mainArgument: "cmd", inPreTasks: true, inPostTasks: true, meaning: "Runs a command with `sh`, as root on the host, or on the bastion with `delegate_to: localhost` (`HOLDFAST_HOST`, `HOLDFAST_ADDRESS` and `HOLDFAST_POOL` are in its environment). It must exit 0.", arguments: []field{
			{name: "cmd", kind: templateKind, required: true, meaning: "the command; `command: TEXT` is short for it"},
			{name: "disrupts", kind: boolKind, fallback: "false", meaning: "the host is not itself meanwhile: it is held, takes a seat in the budgets, and its etcd cluster must be able to lose it. Only in `tasks`"},
			{name: "drain", kind: boolKind, fallback: "false", meaning: "as `disrupts`, and work is moved off before. Only in `tasks`"},
			timeout("5m"),
		}},
		{name: engine.WaitForTaskName, build: buildWaitFor, oneOf: []string{"command", "port", "path", "url"}, inPreTasks: true, inPostTasks: true, meaning: "Waits until something is so. Exactly one of `command`, `port`, `path` and `url` is needed.", arguments: []field{
			{name: "command", kind: templateKind, meaning: "exits 0 on the host"},
			{name: "port", kind: numberKind, least: 1, most: 65535, meaning: "answers on the host, asked there (TCP)"},
			{name: "path", kind: templateKind, meaning: "exists on the host"},
			{name: "url", kind: templateKind, meaning: "answers with 2xx, asked from the bastion; `{host}`, `{address}` and `{pool}` stand for the host's"},
			timeout("5m"),
		}},
		{name: engine.PauseTask, build: buildPause, oneOf: []string{"seconds", "minutes"}, inPreTasks: true, inPostTasks: true, meaning: "Waits for some time, on each host. Exactly one of `seconds` and `minutes` is needed.", arguments: []field{
			{name: "seconds", kind: numberKind, least: 1, most: 86400, meaning: "how many"},
			{name: "minutes", kind: numberKind, least: 1, most: 1440, meaning: "how many"},
		}},
	}
}

func (m module) isAllowedIn(list string) bool {
	return list == mainTasks || list == preTasks && m.inPreTasks || list == postTasks && m.inPostTasks
}

// argumentsIn returns the arguments of a module in a list of tasks. Arguments
// that disrupt a host are allowed only in the main list, where the host is
// held.
func (m module) argumentsIn(list string) []field {
	return slices.DeleteFunc(slices.Clone(m.arguments), func(f field) bool {
		return m.name == engine.CommandTaskName && list != mainTasks && (f.name == "disrupts" || f.name == "drain")
	})
}

func modulesAllowedIn(list string) []string {
	var out []string
	for _, m := range allModules() {
		if m.isAllowedIn(list) {
			out = append(out, m.name)
		}
	}
	return out
}

func findModule(name string) (module, bool) {
	for _, m := range allModules() {
		if m.name == name {
			return m, true
		}
	}
	return module{}, false
}
