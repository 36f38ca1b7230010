package playbook

import (
	"slices"

	"holdfast/engine"
)

// module describes what a task can do.
type module struct {
	name    string
	fields  []field
	short   string   // the argument that a bare text stands for
	oneOf   []string // arguments of which exactly one is needed
	pre     bool     // may stand in pre_tasks
	post    bool     // may stand in post_tasks
	meaning string
	build   func(*loader, arguments, *engine.Task) // nil: it has no arguments
}

// modules are all modules, in the order of the reference.
func modules() []module {
	return append(converging(), deeds()...)
}

// converging are the modules without arguments.
func converging() []module {
	return []module{
		{name: engine.StageTask, meaning: "Puts the OS that the inventory names on disk while everything runs. Disturbs nothing, and is done for all hosts of the play before the first batch."},
		{name: engine.ConfigTask, meaning: "Makes files, units and users what the configurations say, with what their rules ask for, up to a drain and a reboot. Leaves the OS and kernel arguments alone."},
		{name: engine.FinalizeTask, meaning: "Makes the OS and the kernel arguments what the inventory says, with the reboot that it takes. What is not staged is staged first."},
		{name: engine.RebootTask, meaning: "Drains and reboots the host, whether it matches or not. With `config` or `finalize` in the same play, it is one reboot."},
		{name: engine.EtcdSnapshotTask, pre: true, meaning: "Saves the etcd clusters of the play's hosts to the bastion, once in a run, before anything is disturbed; also where the inventory says `snapshot = false`. Without it, a cluster is saved before the first of its members is disrupted."},
		{name: engine.EtcdDefragTask, meaning: "Defragments the etcd member of the host: one member of a cluster at a time, the leader last. Hosts without a member are passed over."},
	}
}

// deeds are the modules with arguments, carried out once on each host of a run.
func deeds() []module {
	timeout := func(after string) field {
		return field{name: "timeout", kind: span, fallback: after, meaning: "after which it has failed"}
	}
	return []module{
		{name: engine.ServiceTaskName, build: buildService, meaning: "Restarts or reloads a systemd unit where it runs. A host that has no such unit, or has it masked, fails.", fields: []field{
			{name: "name", kind: template, required: true, meaning: "of the unit; without an ending it is a `.service`"},
			{name: "state", kind: choice, choices: []string{"restarted", "reloaded"}, required: true, meaning: "what is done to it"},
			{name: "drain", kind: truth, fallback: "false", meaning: "work is moved off the host before, and let back after"},
			timeout("2m"),
		}},
		{name: engine.CommandTaskName, build: buildCommand, short: "cmd", pre: true, post: true, meaning: "Runs a command with `sh`, as root on the host, or on the bastion with `delegate_to: localhost` (`HOLDFAST_HOST`, `HOLDFAST_ADDRESS` and `HOLDFAST_POOL` are in its environment). It must exit 0.", fields: []field{
			{name: "cmd", kind: template, required: true, meaning: "the command; `command: TEXT` is short for it"},
			{name: "disrupts", kind: truth, fallback: "false", meaning: "the host is not itself meanwhile: it is held, takes a seat in the budgets, and its etcd cluster must be able to lose it. Only in `tasks`"},
			{name: "drain", kind: truth, fallback: "false", meaning: "as `disrupts`, and work is moved off before. Only in `tasks`"},
			timeout("5m"),
		}},
		{name: engine.WaitForTaskName, build: buildWaitFor, oneOf: []string{"command", "port", "path", "url"}, pre: true, post: true, meaning: "Waits until something is so. Exactly one of `command`, `port`, `path` and `url` is needed.", fields: []field{
			{name: "command", kind: template, meaning: "exits 0 on the host"},
			{name: "port", kind: number, least: 1, most: 65535, meaning: "answers on the host, asked there (TCP)"},
			{name: "path", kind: template, meaning: "exists on the host"},
			{name: "url", kind: template, meaning: "answers with 2xx, asked from the bastion; `{host}`, `{address}` and `{pool}` stand for the host's"},
			timeout("5m"),
		}},
		{name: engine.PauseTask, build: buildPause, oneOf: []string{"seconds", "minutes"}, pre: true, post: true, meaning: "Waits for some time, on each host. Exactly one of `seconds` and `minutes` is needed.", fields: []field{
			{name: "seconds", kind: number, least: 1, most: 86400, meaning: "how many"},
			{name: "minutes", kind: number, least: 1, most: 1440, meaning: "how many"},
		}},
	}
}

// may reports whether the module may stand in that list of tasks.
func (m module) may(list string) bool {
	return list == mainTasks || list == preTasks && m.pre || list == postTasks && m.post
}

// fieldsIn are the arguments the module takes in that list of tasks: what disrupts a
// host belongs where it is drained.
func (m module) fieldsIn(list string) []field {
	return slices.DeleteFunc(slices.Clone(m.fields), func(f field) bool {
		return m.name == engine.CommandTaskName && list != mainTasks && (f.name == "disrupts" || f.name == "drain")
	})
}

// allowed are the modules that may stand in a list of tasks.
func allowed(list string) []string {
	var out []string
	for _, m := range modules() {
		if m.may(list) {
			out = append(out, m.name)
		}
	}
	return out
}

func moduleNamed(name string) (module, bool) {
	for _, m := range modules() {
		if m.name == name {
			return m, true
		}
	}
	return module{}, false
}
