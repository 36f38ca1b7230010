package playbook

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// unsupportedTaskKeys returns advice for keys that a task cannot have: words of Ansible, and arguments of its module, which
// belong one level deeper.
func unsupportedTaskKeys(list string, task *yaml.Node) map[string]string {
	advice := unsupportedTaskWords()
	for _, name := range keysOf(task) {
		m, ok := findModule(name)
		if !ok {
			continue
		}
		notHere := unsupportedArguments(m.name)
		for _, f := range m.arguments {
			advice[f.name] = notHere[f.name]
		}
		for _, f := range m.argumentsIn(list) {
			advice[f.name] = "it is an argument of " + m.name + "; write " + m.name + ": " + m.exampleWith(f, task)
		}
	}
	return advice
}

func (m module) exampleWith(f field, task *yaml.Node) string {
	first := m.mainArgument
	if keys := keysOf(valueOf(task, m.name)); len(keys) > 0 {
		first = keys[0]
	} else if first == "" && len(m.oneOf) == 0 {
		first = m.arguments[0].name
	}
	words := []string{f.name + ": " + shortValue(f, valueOf(task, f.name))}
	if first != "" && first != f.name && !slices.Contains(m.oneOf, f.name) {
		words = append([]string{first + ": …"}, words...)
	}
	return "{" + strings.Join(words, ", ") + "}"
}

func shortValue(f field, value *yaml.Node) string {
	const longest = 12
	if f.kind == templateKind || value == nil || value.Kind != yaml.ScalarNode || value.Value == "" || len(value.Value) > longest {
		return "…"
	}
	return value.Value
}
