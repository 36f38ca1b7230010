package playbook

import (
	"strings"

	"holdfast/engine"
)

// field describes one key of a play, a task or a module's arguments.
type field struct {
	name        string
	kind        kind
	required    bool
	choices     []string // values of kind choice
	least, most int      // bounds of kind number
	fallback    string   // default value, as text for the reference
	meaning     string
}

// kind is the type of a value. Texts of kind template may contain ${var.NAME}.
type kind string

const (
	templateKind  kind = "text with ${var.NAME}"
	boolKind      kind = "true or false"
	numberKind    kind = "number"
	choiceKind    kind = "word"
	durationKind  kind = "duration"
	hostsKind     kind = "host pattern, or list of them"
	countsKind    kind = "number, percentage, or list of them"
	tagsKind      kind = "tag, or list of tags"
	conditionKind kind = "condition, or list of them"
	variablesKind kind = "names with texts, numbers, true or false"
	tasksKind     kind = "list of tasks"
)

// The lists of tasks in a play, in execution order.
const (
	preTasks  = "pre_tasks"
	mainTasks = "tasks"
	postTasks = "post_tasks"
)

func playFields() []field {
	return []field{
		{name: "name", kind: templateKind, fallback: "its hosts", meaning: "name in messages and reports"},
		{name: "hosts", kind: hostsKind, required: true, meaning: "hosts of the play, as for `--limit`; a list has the same meaning as commas"},
		{name: "serial", kind: countsKind, fallback: "as many as the pools allow", meaning: "hosts in a batch, at most; of a list, in the first batch, the second …, and the last for all others. A percentage is of the hosts of the play and rounds down, but to at least 1"},
		{name: "max_fail_percentage", kind: numberKind, least: 0, most: 100, fallback: "the pools' `failure_budget`", meaning: "percentage of the play's hosts that may fail before no other host is started; with 0, one failure is enough"},
		{name: "order", kind: choiceKind, choices: hostOrders(), fallback: "the pools' `order`", meaning: "order of the hosts in a pool; hosts of one zone always follow each other"},
		{name: "any_errors_fatal", kind: boolKind, fallback: "false", meaning: "the first failed host stops the run, regardless of budgets"},
		{name: "vars", kind: variablesKind, fallback: "none", meaning: "variables, for `when` and `${var.NAME}`; `--var NAME=VALUE` wins. A variable without a value needs `--var`"},
		{name: "tags", kind: tagsKind, fallback: "none", meaning: "tags of all its tasks"},
		{name: preTasks, kind: tasksKind, fallback: "none", meaning: "tasks to run on each host before it is drained"},
		{name: mainTasks, kind: tasksKind, required: true, meaning: "tasks to run on each host"},
		{name: postTasks, kind: tasksKind, fallback: "none", meaning: "tasks to run on each host after it returns"},
	}
}

func taskFields() []field {
	return []field{
		{name: "name", kind: templateKind, fallback: "the module and its main argument", meaning: "name in messages and reports"},
		{name: "when", kind: conditionKind, fallback: "true", meaning: "condition for hosts; all conditions of a list must be true"},
		{name: "tags", kind: tagsKind, fallback: "none", meaning: "for `--tags` and `--skip-tags`; the tags of the play are added"},
		{name: "delegate_to", kind: choiceKind, choices: []string{"localhost"}, fallback: "the host", meaning: "a `command` runs on the bastion instead, once for each host"},
	}
}

// hostOrders returns the values of engine.Order as Ansible spells them.
func hostOrders() []string {
	var list []string
	for _, o := range []engine.Order{engine.Sorted, engine.ReverseSorted, engine.InInventory, engine.ReverseInventory, engine.Shuffled} {
		list = append(list, strings.ReplaceAll(string(o), "-", "_"))
	}
	return list
}

func fieldNames(fields []field) []string {
	var list []string
	for _, f := range fields {
		list = append(list, f.name)
	}
	return list
}
