package playbook

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"holdfast/engine"
)

// readTasks drops tasks that tags exclude. e is empty if the play has no such list.
func (l *loader) readTasks(list string, e entry, playTags []string) []engine.Task {
	if e.value == nil || e.value.Tag == "!!null" {
		return nil
	}
	if e.value.Kind != yaml.SequenceNode || len(e.value.Content) == 0 {
		l.errs.addProblem(place{e.value.Line, e.value.Column, 1}, list+" has no tasks", "write a list: each task begins with a dash, - "+engine.StageTask+":")
		return nil
	}
	var tasks []engine.Task
	for _, n := range translateTasks(e.value.Content) {
		if name := effectlessModule(n); name != "" {
			l.dropped = name
			droppedTask{l, list, name}.checkKeys(n)
			continue
		}
		t, tags := l.readTask(list, n)
		if list == mainTasks {
			l.allTasks = append(l.allTasks, t)
		}
		if l.opts.isSelected(append(slices.Clone(playTags), tags...)) {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

func (l *loader) readTask(list string, n *yaml.Node) (engine.Task, []string) {
	t := engine.Task{Line: n.Line}
	if n.Kind == yaml.ScalarNode {
		l.readBareTask(list, n, &t)
		return t, nil
	}
	if n.Kind != yaml.MappingNode {
		l.addProblem(n, "this is not a task", "a task has a module and its arguments")
		return t, nil
	}
	var all []string
	for _, m := range allModules() {
		all = append(all, m.name)
	}
	before := l.errs.Len()
	entries := l.readFields(n, vocabulary{"a task", taskFields(), all, unsupportedTaskKeys(list, n)})
	understood := l.errs.Len() == before
	v := l.readValues(entries, taskFields())
	t.Name = l.readName(entries, v)
	if e, ok := entries["when"]; ok && e.value.Tag != "!!null" {
		t.Skip = conditionReader{l}.skippedHosts(e.value)
	}
	m, e, ok := l.taskModule(n, entries, understood)
	if !ok {
		return t, nil
	}
	l.setModule(list, m, e, &t)
	if e, ok := entries["when"]; ok && m.name == engine.EtcdSnapshotTask {
		l.addProblem(e.key, m.name+" cannot have a when", "it saves the clusters of the play's hosts; select those with hosts")
	}
	if e, ok := entries["delegate_to"]; ok {
		switch {
		case m.name != engine.CommandTaskName:
			l.addProblem(e.key, m.name+" cannot be delegated", "only a command can run on the bastion")
		case t.Command != nil:
			t.Command.Bastion = true
		}
	}
	if t.Name == "" {
		t.Name = defaultTaskName(t)
	}
	return t, typedValue[[]string](v, "tags")
}

func (l *loader) readBareTask(list string, n *yaml.Node, t *engine.Task) {
	name, ok := l.readText("the task", n)
	if !ok {
		return
	}
	m, known := findModule(name)
	switch {
	case !known && unsupportedTaskWords()[name] != "":
		l.addProblem(n, fmt.Sprintf("there is no module %q", name), unsupportedTaskWords()[name])
	case !known:
		l.addProblem(n, fmt.Sprintf("there is no module %q", name), suggestWord(name, modulesAllowedIn(list)))
	case m.build != nil:
		l.addProblem(n, name+" lacks its arguments", "write them after a colon: - "+name+": …")
	default:
		l.setModule(list, m, entry{key: n}, t)
		t.Name = m.name
	}
}

func (l *loader) taskModule(n *yaml.Node, entries map[string]entry, understood bool) (module, entry, bool) {
	var found []module
	for _, m := range allModules() {
		if _, ok := entries[m.name]; ok {
			found = append(found, m)
		}
	}
	switch {
	case len(found) == 0 && understood:
		l.errs.addProblem(place{n.Line, n.Column, 1}, "the task has no module", "add one of "+strings.Join(modulesAllowedIn(mainTasks), ", "))
	case len(found) > 1:
		slices.SortFunc(found, func(a, b module) int {
			x, y := entries[a.name].key, entries[b.name].key
			if x.Line != y.Line {
				return x.Line - y.Line
			}
			return x.Column - y.Column
		})
		l.addProblem(entries[found[1].name].key, "the task has both "+found[0].name+" and "+found[1].name, "make it two tasks")
	}
	if len(found) != 1 {
		return module{}, entry{}, false
	}
	return found[0], entries[found[0].name], true
}

// arguments holds the values of a module's arguments, with their entries.
type arguments struct {
	values
	entries map[string]entry
}

func (l *loader) setModule(list string, m module, e entry, t *engine.Task) {
	t.Module = m.name
	if !m.isAllowedIn(list) {
		l.addProblem(e.key, fmt.Sprintf("%s is not allowed in %s", m.name, list), "move it to tasks; "+list+" allows "+strings.Join(modulesAllowedIn(list), ", "))
	}
	fields := m.argumentsIn(list)
	switch {
	case m.build == nil && l.refusedArguments(m, e.value):
	case m.build == nil:
		nothing := e.value == nil || e.value.Kind == yaml.ScalarNode && e.value.Tag == "!!null" || e.value.Kind == yaml.MappingNode && len(e.value.Content) == 0
		if !nothing {
			l.addProblem(e.value, m.name+" takes no arguments", "write "+m.name+": and nothing after it")
		}
	case e.value.Kind == yaml.MappingNode:
		before := l.errs.Len()
		entries := l.readFields(e.value, vocabulary{owner: m.name, fields: fields, unsupported: unsupportedArguments(m.name)})
		understood := l.errs.Len() == before
		a := arguments{l.readValues(entries, fields), entries}
		if l.checkOneOf(m, a, e.key, understood) {
			m.build(l, a, t)
		}
	case m.mainArgument != "" && e.value.Tag != "!!null":
		entries := map[string]entry{m.mainArgument: e}
		m.build(l, arguments{l.readValues(entries, fields), entries}, t)
	case e.value.Tag == "!!null":
		l.addProblem(e.value, m.name+" lacks its arguments", "it takes "+strings.Join(fieldNames(fields), ", "))
	default:
		l.addProblem(e.value, "the arguments of "+m.name+" are not a mapping", "write "+m.name+": {"+fields[0].name+": …}, or each in a line of its own")
	}
}

func (l *loader) checkOneOf(m module, a arguments, key *yaml.Node, understood bool) bool {
	var given []string
	for _, name := range m.oneOf {
		if _, ok := a.entries[name]; ok {
			given = append(given, name)
		}
	}
	switch {
	case len(m.oneOf) == 0 || len(given) == 1:
		return true
	case len(given) == 0 && !understood: // the unknown argument is already reported
	case len(given) == 0:
		l.addProblem(key, m.name+" needs one of its arguments", "add one of "+strings.Join(m.oneOf, ", "))
	default:
		l.addProblem(a.entries[given[1]].key, fmt.Sprintf("%s has both %s and %s", m.name, given[0], given[1]), "make it two tasks")
	}
	return false
}

// refusedArguments reports arguments of a module without arguments for which there is advice.
func (l *loader) refusedArguments(m module, n *yaml.Node) bool {
	if n == nil || n.Kind != yaml.MappingNode {
		return false
	}
	found := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		if advice := unsupportedArguments(m.name)[n.Content[i].Value]; advice != "" {
			l.addProblem(n.Content[i], fmt.Sprintf("%s has no %q", m.name, n.Content[i].Value), advice)
			found = true
		}
	}
	return found
}
