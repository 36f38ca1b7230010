package playbook

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// entry is a key of a mapping with its value.
type entry struct{ key, value *yaml.Node }

// readMapping reports duplicate keys and keeps the first.
func (l *loader) readMapping(n *yaml.Node) map[string]entry {
	entries := map[string]entry{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolveAlias(n.Content[i+1])
		if key.Kind != yaml.ScalarNode || key.Tag == "!!null" || key.Tag == "!!merge" && key.Value == "<<" {
			l.addProblem(key, "this cannot be a key", "use a word; merge keys (<<) and lists as keys are not supported")
			continue
		}
		if first, twice := entries[key.Value]; twice {
			l.addProblem(key, fmt.Sprintf("a second %q", key.Value), fmt.Sprintf("the first is in line %d; remove one", first.key.Line))
			continue
		}
		entries[key.Value] = entry{key, value}
	}
	return entries
}

// vocabulary lists the keys that a mapping may have.
type vocabulary struct {
	owner       string // subject of messages about the mapping, such as "a play"
	fields      []field
	more        []string          // further keys, which the caller reads itself
	unsupported map[string]string // advice for known keys that are not supported
}

func (l *loader) readFields(n *yaml.Node, allowed vocabulary) map[string]entry {
	entries := l.readMapping(n)
	words := append(fieldNames(allowed.fields), allowed.more...)
	given, explained := len(entries), false
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		e, ok := entries[key.Value]
		if !ok || e.key != key || slices.Contains(words, key.Value) {
			continue
		}
		delete(entries, key.Value)
		explained = explained || key.Value == "roles" // of a play, in place of its tasks
		l.addProblem(key, fmt.Sprintf("%s has no %q", allowed.owner, key.Value), adviseOn(key.Value, allowed.unsupported, words))
	}
	for _, f := range allowed.fields {
		strange := given > 0 && len(entries) == 0 // no key is valid: one error per key is enough
		if _, ok := entries[f.name]; f.required && !ok && !strange && !(explained && f.name == mainTasks) {
			l.addProblem(n, fmt.Sprintf("%s lacks %q", allowed.owner, f.name), "add it: "+strings.ReplaceAll(f.meaning, "`", ""))
		}
	}
	return entries
}

// adviseOn returns the advice for a key that a mapping cannot have. words are the keys that it can have.
func adviseOn(key string, unsupported map[string]string, words []string) string {
	switch advice := unsupported[key]; {
	case advice != "":
		return advice
	case strings.Count(key, ".") >= 2:
		return "modules of collections are not part of holdfast; write a command, or leave it to Ansible"
	}
	return suggestWord(key, words)
}

// values maps the keys of a mapping to their values. The kind of a field decides
// the type of its value: string, bool, int, engine.Duration,
// []engine.CountOrPercent or []string. Missing and invalid values are absent.
type values map[string]any

func (v values) textOf(name string) string { return typedValue[string](v, name) }
func (v values) isTrue(name string) bool   { return typedValue[bool](v, name) }
func (v values) numberOf(name string) int  { return typedValue[int](v, name) }
func (v values) has(name string) bool      { _, ok := v[name]; return ok }

func typedValue[T any](v values, name string) T {
	x, _ := v[name].(T)
	return x
}

func (l *loader) readValues(entries map[string]entry, fields []field) values {
	v := values{}
	for _, f := range fields {
		e, given := entries[f.name]
		if !given {
			continue
		}
		if e.value.Tag == "!!null" && e.value.Kind == yaml.ScalarNode {
			l.addProblem(e.key, f.name+" has no value", "set a value, or remove the line")
			continue
		}
		if x, ok := l.readScalar(f, e.value); ok {
			v[f.name] = x
		}
	}
	return v
}

func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n = resolveAlias(n); n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return resolveAlias(n.Content[i+1])
		}
	}
	return nil
}

func keysOf(n *yaml.Node) []string {
	var keys []string
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		keys = append(keys, n.Content[i].Value)
	}
	return keys
}
