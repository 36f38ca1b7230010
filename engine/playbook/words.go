package playbook

import "holdfast/engine"

// field describes one key of a play, a task or a module's arguments.
type field struct {
	name        string
	kind        kind
	required    bool
	choices     []string // of kind choice
	least, most int      // of kind number
	fallback    string   // what holds if it is not given, for the reference
	meaning     string
}

// kind is what a value has to be. Texts of kind template take ${var.NAME}.
type kind string

const (
	template  kind = "text with ${var.NAME}"
	truth     kind = "true or false"
	number    kind = "number"
	choice    kind = "word"
	span      kind = "duration"
	hosts     kind = "host pattern, or list of them"
	limits    kind = "number, percentage, or list of them"
	tagList   kind = "tag, or list of tags"
	condition kind = "condition, or list of them"
	scalars   kind = "names with texts, numbers, true or false"
	taskList  kind = "list of tasks"
)

// The lists of tasks in a play, in the order in which they are carried out on
// a host.
const (
	preTasks  = "pre_tasks"
	mainTasks = "tasks"
	postTasks = "post_tasks"
)

// playFields are the keys of a play.
func playFields() []field {
	return []field{
		{name: "name", kind: template, fallback: "its hosts", meaning: "what messages and reports call it"},
		{name: "hosts", kind: hosts, required: true, meaning: "which hosts, as for `--limit`; a list is the same with commas"},
		{name: "serial", kind: limits, fallback: "as many as the pools allow", meaning: "hosts in a batch, at most; of a list, in the first batch, the second …, and the last for all others. A percentage is of the hosts of the play and rounds down, but to at least 1"},
		{name: "max_fail_percentage", kind: number, least: 0, most: 100, fallback: "the pools' `failure_budget`", meaning: "percentage of the play's hosts that may fail while others are still begun; 0 is none"},
		{name: "order", kind: choice, choices: orders(), fallback: "the pools' `order`", meaning: "in which the hosts of a pool follow each other; those of one zone always go together"},
		{name: "any_errors_fatal", kind: truth, fallback: "false", meaning: "the first host that fails stops the run, whatever the budgets say"},
		{name: "vars", kind: scalars, fallback: "none", meaning: "variables, for `when` and `${var.NAME}`; `--var NAME=VALUE` wins. One without a value has to be given with `--var`"},
		{name: "tags", kind: tagList, fallback: "none", meaning: "tags of all its tasks"},
		{name: preTasks, kind: taskList, fallback: "none", meaning: "done on each host before work is moved off it"},
		{name: mainTasks, kind: taskList, required: true, meaning: "what is done on each host"},
		{name: postTasks, kind: taskList, fallback: "none", meaning: "done on each host when it is back"},
	}
}

// taskFields are the keys of a task besides its module.
func taskFields() []field {
	return []field{
		{name: "name", kind: template, fallback: "the module and its main argument", meaning: "what messages and reports call it"},
		{name: "when", kind: condition, fallback: "true", meaning: "on which hosts; of a list, all must hold"},
		{name: "tags", kind: tagList, fallback: "none", meaning: "for `--tags` and `--skip-tags`; those of the play are added"},
		{name: "delegate_to", kind: choice, choices: []string{"localhost"}, fallback: "the host", meaning: "a `command` runs on the bastion instead, once for each host"},
	}
}

// orders are Ansible's words for the order of hosts.
func orders() []string {
	return []string{string(engine.Sorted), string(engine.ReverseSorted), string(engine.InInventory), string(engine.ReverseInventory), string(engine.Shuffled)}
}

func names(fields []field) []string {
	var list []string
	for _, f := range fields {
		list = append(list, f.name)
	}
	return list
}
