package playbook

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"holdfast/engine"
)

// tasks reads a list of tasks, without those that tags leave out. e is nothing
// where the play has none.
func (l *loader) tasks(list string, e entry, playTags []string) []engine.Task {
	if e.value == nil || e.value.Tag == "!!null" {
		return nil
	}
	if e.value.Kind != yaml.SequenceNode || len(e.value.Content) == 0 {
		l.errs.add(place{e.value.Line, e.value.Column, 1}, list+" has no tasks", "write a list: each task begins with a dash, - "+engine.StageTask+":")
		return nil
	}
	var tasks []engine.Task
	for _, n := range e.value.Content {
		t, tags := l.task(list, follow(n))
		if list == mainTasks {
			l.every = append(l.every, t)
		}
		if l.opts.runs(append(slices.Clone(playTags), tags...)) {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// task reads one task and the tags it has itself.
func (l *loader) task(list string, n *yaml.Node) (engine.Task, []string) {
	t := engine.Task{Line: n.Line}
	if n.Kind == yaml.ScalarNode {
		l.bare(list, n, &t)
		return t, nil
	}
	if n.Kind != yaml.MappingNode {
		l.fail(n, "this is not a task", "a task has a module and its arguments")
		return t, nil
	}
	var all []string
	for _, m := range modules() {
		all = append(all, m.name)
	}
	before := l.errs.Len()
	entries := l.object(n, "a task", taskFields(), all, taskLacks())
	understood := l.errs.Len() == before
	v := l.values(entries, taskFields())
	t.Name = l.title(entries, v)
	if e, ok := entries["when"]; ok && e.value.Tag != "!!null" {
		t.Skip = l.skip(e.value)
	}
	m, e, ok := l.module(n, entries, understood)
	if !ok {
		return t, nil
	}
	l.carry(list, m, e, &t)
	if e, ok := entries["when"]; ok && m.name == engine.EtcdSnapshotTask {
		l.fail(e.key, m.name+" cannot have a when", "it is about the clusters of the play's hosts; choose those with hosts")
	}
	if e, ok := entries["delegate_to"]; ok {
		switch {
		case m.name != engine.CommandTaskName:
			l.fail(e.key, m.name+" cannot be delegated", "only a command can run on the bastion")
		case t.Command != nil:
			t.Command.Bastion = true
		}
	}
	if t.Name == "" {
		t.Name = byModule(t)
	}
	return t, value[[]string](v, "tags")
}

// bare reads a task that is only the name of a module.
func (l *loader) bare(list string, n *yaml.Node, t *engine.Task) {
	name, ok := l.text("the task", n)
	if !ok {
		return
	}
	m, known := moduleNamed(name)
	switch {
	case !known && taskLacks()[name] != "":
		l.fail(n, fmt.Sprintf("there is no module %q", name), taskLacks()[name])
	case !known:
		l.fail(n, fmt.Sprintf("there is no module %q", name), suggestion(name, allowed(list)))
	case m.build != nil:
		l.fail(n, name+" lacks its arguments", "write them after a colon: - "+name+": …")
	default:
		l.carry(list, m, entry{key: n}, t)
		t.Name = m.name
	}
}

// module finds the one module of a task.
func (l *loader) module(n *yaml.Node, entries map[string]entry, understood bool) (module, entry, bool) {
	var found []module
	for _, m := range modules() {
		if _, ok := entries[m.name]; ok {
			found = append(found, m)
		}
	}
	switch {
	case len(found) == 0 && understood:
		l.errs.add(place{n.Line, n.Column, 1}, "the task has no module", "add one of "+strings.Join(allowed(mainTasks), ", "))
	case len(found) > 1:
		slices.SortFunc(found, func(a, b module) int {
			x, y := entries[a.name].key, entries[b.name].key
			if x.Line != y.Line {
				return x.Line - y.Line
			}
			return x.Column - y.Column
		})
		l.fail(entries[found[1].name].key, "the task has both "+found[0].name+" and "+found[1].name, "make it two tasks")
	}
	if len(found) != 1 {
		return module{}, entry{}, false
	}
	return found[0], entries[found[0].name], true
}

// arguments are those of a module, with where they stand.
type arguments struct {
	values
	entries map[string]entry
}

// carry gives a task its module.
func (l *loader) carry(list string, m module, e entry, t *engine.Task) {
	t.Module = m.name
	if !m.may(list) {
		l.fail(e.key, fmt.Sprintf("%s cannot stand in %s", m.name, list), "move it to tasks; "+list+" can have "+strings.Join(allowed(list), ", "))
	}
	fields := m.fieldsIn(list)
	switch {
	case m.build == nil:
		nothing := e.value == nil || e.value.Kind == yaml.ScalarNode && e.value.Tag == "!!null" || e.value.Kind == yaml.MappingNode && len(e.value.Content) == 0
		if !nothing {
			l.fail(e.value, m.name+" takes no arguments", "write "+m.name+": and nothing after it")
		}
	case e.value.Kind == yaml.MappingNode:
		before := l.errs.Len()
		entries := l.object(e.value, m.name, fields, nil, argumentLacks(m.name))
		understood := l.errs.Len() == before
		a := arguments{l.values(entries, fields), entries}
		if l.one(m, a, e.key, understood) {
			m.build(l, a, t)
		}
	case m.short != "" && e.value.Tag != "!!null":
		entries := map[string]entry{m.short: e}
		m.build(l, arguments{l.values(entries, fields), entries}, t)
	case e.value.Tag == "!!null":
		l.fail(e.value, m.name+" lacks its arguments", "it takes "+strings.Join(names(fields), ", "))
	default:
		l.fail(e.value, "the arguments of "+m.name+" are not a mapping", "write "+m.name+": {"+fields[0].name+": …}, or each in a line of its own")
	}
}

// one checks that exactly one of the arguments is given of which that is
// needed.
func (l *loader) one(m module, a arguments, key *yaml.Node, understood bool) bool {
	var given []string
	for _, name := range m.oneOf {
		if _, ok := a.entries[name]; ok {
			given = append(given, name)
		}
	}
	switch {
	case len(m.oneOf) == 0 || len(given) == 1:
		return true
	case len(given) == 0 && !understood: // more about it would only confuse
	case len(given) == 0:
		l.fail(key, m.name+" does not say for what", "add one of "+strings.Join(m.oneOf, ", "))
	default:
		l.fail(a.entries[given[1]].key, fmt.Sprintf("%s has both %s and %s", m.name, given[0], given[1]), "make it two tasks")
	}
	return false
}
