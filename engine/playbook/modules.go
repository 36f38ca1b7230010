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

func allModules() []module {
	return append(modulesWithoutArguments(), modulesWithArguments()...)
}

func modulesWithoutArguments() []module {
	return []module{
		{name: engine.StageTask, meaning: "Puts the OS that the inventory names on disk while the host keeps running. It does not disrupt hosts, and runs for all hosts of the play before the first batch."},
		{name: engine.ConfigTask, meaning: "Applies files, units and users of the configurations, with the actions of their rules, up to a drain and a reboot. Does not change the OS and kernel arguments."},
		{name: engine.FinalizeTask, meaning: "Applies the OS and the kernel arguments of the inventory, with a reboot. It first stages an OS that is not staged."},
		{name: engine.RebootTask, meaning: "Drains and reboots the host, whether it matches or not. With `config` or `finalize` in the same play, the host reboots only once."},
		{name: engine.EtcdSnapshotTask, inPreTasks: true, meaning: "Saves the etcd clusters of the play's hosts to the bastion, once in a run, before any host is disrupted, even with `snapshot = false` in the inventory. Without it, a cluster is saved before the first of its members is disrupted."},
		{name: engine.EtcdDefragTask, meaning: "Defragments the etcd member of the host: one member of a cluster at a time, the leader last. Hosts without a member are skipped."},
	}
}

func modulesWithArguments() []module {
	timeout := func(after string) field {
		return field{name: "timeout", kind: durationKind, fallback: after, meaning: "the task fails after this time"}
	}
	return []module{
		{name: engine.ServiceTaskName, build: buildService, meaning: "Restarts or reloads a systemd unit where it runs. Fails if the unit is missing or masked.", arguments: []field{
			{name: "name", kind: templateKind, required: true, meaning: "name of the unit; without a suffix it is a `.service`"},
			{name: "state", kind: choiceKind, choices: []string{"restarted", "reloaded"}, required: true, meaning: "the operation"},
			{name: "drain", kind: boolKind, fallback: "false", meaning: "drains the host before, and undrains it after"},
			timeout("2m"),
		}},
		{name: engine.CommandTaskName, build: buildCommand, mainArgument: "cmd", inPreTasks: true, inPostTasks: true, meaning: "Runs a command with `sh`, as root on the host, or on the bastion with `delegate_to: localhost` (`HOLDFAST_HOST`, `HOLDFAST_ADDRESS` and `HOLDFAST_POOL` are in its environment). It must exit 0.", arguments: []field{
			{name: "cmd", kind: templateKind, required: true, meaning: "the command; `command: TEXT` is short for it"},
			{name: "disrupts", kind: boolKind, fallback: "false", meaning: "the command disrupts the host: the host is held and uses up budgets, and its etcd cluster must be able to lose it. Only in `tasks`"},
			{name: "drain", kind: boolKind, fallback: "false", meaning: "as `disrupts`, and drains the host before. Only in `tasks`"},
			timeout("5m"),
		}},
		{name: engine.WaitForTaskName, build: buildWaitFor, oneOf: []string{"command", "port", "path", "url"}, inPreTasks: true, inPostTasks: true, meaning: "Waits for a condition. Exactly one of `command`, `port`, `path` and `url` is needed.", arguments: []field{
			{name: "command", kind: templateKind, meaning: "command that must exit 0 on the host"},
			{name: "port", kind: numberKind, least: 1, most: 65535, meaning: "TCP port on which a process of the host must listen"},
			{name: "path", kind: templateKind, meaning: "path that must exist on the host"},
			{name: "url", kind: templateKind, meaning: "URL that must answer the bastion with 2xx; `{host}`, `{address}` and `{pool}` are replaced"},
			timeout("5m"),
		}},
		{name: engine.PauseTask, build: buildPause, oneOf: []string{"seconds", "minutes"}, inPreTasks: true, inPostTasks: true, meaning: "Waits for some time, on each host. Exactly one of `seconds` and `minutes` is needed.", arguments: []field{
			{name: "seconds", kind: numberKind, least: 1, most: 86400, meaning: "length of the pause"},
			{name: "minutes", kind: numberKind, least: 1, most: 1440, meaning: "length of the pause"},
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
