package playbook

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"holdfast/engine"
)

// This file translates words of Ansible before anything reads them: full names of modules become short ones, and words
// that change nothing here are removed.

// builtinCollections begin the full names of modules.
func builtinCollections() []string {
	return []string{"ansible.builtin.", "ansible.legacy."}
}

func shortName(name string) string {
	for _, c := range builtinCollections() {
		if short, ok := strings.CutPrefix(name, c); ok {
			return short
		}
	}
	return name
}

// moduleOf returns the module that does the same as a module of Ansible.
func moduleOf(name string) string {
	switch short := shortName(name); short {
	case "shell", "raw":
		return engine.CommandTaskName
	case "systemd", "systemd_service", "sysvinit":
		return engine.ServiceTaskName
	default:
		return short
	}
}

const (
	// anyValue stands for all values of a word.
	anyValue = "any"
	// usualReboot stands for all times, in seconds, up to the time that a pool gives a reboot by default. holdfast
	// waits at least as long.
	usualReboot = "usual"
	// omitted stands for an expression that sets nothing unless a variable outside of the playbook is set.
	omitted = "omitted"
)

var omits = regexp.MustCompile(`^\{\{ *\w+ *\| *default\( *omit *\) *\}\}$`)

// wordsWithoutEffect lists keys of plays and tasks with the values that change nothing here: "" is an empty list, mapping
// or value.
func wordsWithoutEffect() map[string][]string {
	yes, no := []string{"true", "yes"}, []string{"false", "no"}
	return map[string][]string{
		"become": yes, "become_user": {"root"}, "become_method": {"sudo"}, "connection": {"ssh", "smart"}, "strategy": {"linear"},
		"check_mode": no, "diff": {anyValue}, "no_log": no, "ignore_errors": no, "ignore_unreachable": no, "run_once": no, "force_handlers": no,
		"delegate_facts": no, "throttle": {"0"}, "debugger": {"never"},
		"environment": {""}, "collections": {""}, "module_defaults": {""},
	}
}

func playWordsWithoutEffect() map[string][]string {
	words := wordsWithoutEffect()
	for _, w := range []string{"gather_facts", "gather_subset", "gather_timeout"} {
		words[w] = []string{anyValue}
	}
	for _, w := range []string{"roles", "handlers", "vars_files"} {
		words[w] = []string{""}
	}
	return words
}

func taskWordsWithoutEffect() map[string][]string {
	words := wordsWithoutEffect()
	words["changed_when"] = []string{anyValue} // only a report, because there are no handlers
	words["register"] = []string{anyValue}     // a task that uses the result is refused
	words["vars"] = []string{""}
	return words
}

func argumentsWithoutEffect(module string) map[string][]string {
	all := []string{anyValue}
	switch module {
	case engine.RebootTask: // a reboot waits for the boot, units and etcd
		return map[string][]string{
			"msg": all, "connect_timeout": all, "boot_time_command": all, "pre_reboot_delay": all, "post_reboot_delay": all,
			"reboot_timeout": {usualReboot}, "reboot_command": {omitted},
			"test_command": {"whoami", "true", "/bin/true", "uptime", "hostname", "date", "id", "ls", "exit 0"}, // they succeed wherever a login does
		}
	case engine.WaitForTaskName:
		return map[string][]string{
			"sleep": all, "connect_timeout": all, "msg": all, "state": {"started", "present"}, "host": {"127.0.0.1", "localhost"}, "delay": {"0"},
		}
	case engine.ServiceTaskName:
		return map[string][]string{"use": all, "scope": {"system"}, "daemon_reload": {"false", "no"}}
	case engine.CommandTaskName:
		return map[string][]string{"warn": all, "strip_empty_ends": all, "executable": {"/bin/sh"}}
	case engine.PauseTask:
		return map[string][]string{"echo": all}
	}
	return nil
}

// tasksWithoutEffect lists modules whose tasks are dropped: facts are gathered, and hosts waited for, in any case.
func tasksWithoutEffect() []string {
	return []string{"debug", "ping", "setup", "gather_facts", "service_facts", "package_facts", "wait_for_connection"}
}

// removeWords removes keys whose values change nothing.
func removeWords(n *yaml.Node, words map[string][]string) {
	if n.Kind != yaml.MappingNode {
		return
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolveAlias(n.Content[i+1])
		if list, ok := words[key.Value]; ok && key.Kind == yaml.ScalarNode && hasValue(list, value) {
			continue
		}
		kept = append(kept, key, n.Content[i+1])
	}
	n.Content = kept
}

func hasValue(list []string, n *yaml.Node) bool {
	switch {
	case slices.Contains(list, anyValue):
		return true
	case n.Kind == yaml.ScalarNode && n.Tag == "!!bool":
		return slices.Contains(list, strings.ToLower(n.Value))
	case n.Kind == yaml.ScalarNode && slices.Contains(list, usualReboot):
		seconds, err := strconv.Atoi(n.Value)
		return err == nil && seconds > 0 && time.Duration(seconds)*time.Second <= time.Duration(engine.Timeouts{}.WithDefaults().Reboot)
	case n.Kind == yaml.ScalarNode:
		return slices.Contains(list, shortName(n.Value)) || slices.Contains(list, omitted) && omits.MatchString(n.Value)
	}
	return len(n.Content) == 0 && slices.Contains(list, "")
}

// translateTask replaces the full name of the module, and removes words without effect.
func translateTask(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		n.Value = moduleOf(n.Value)
		return
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	removeWords(n, taskWordsWithoutEffect())
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			continue
		}
		if short := moduleOf(key.Value); short != key.Value && valueOf(n, short) == nil {
			key.Value = short
		}
		if words := argumentsWithoutEffect(key.Value); words != nil {
			removeWords(resolveAlias(n.Content[i+1]), words)
		}
	}
}

// translateTasks translates copies of tasks: an anchor may share a task, or its arguments, with others.
func translateTasks(list []*yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	for _, n := range list {
		n = copyNode(n)
		translateTask(n)
		out = append(out, n)
		if wait := splitTestCommand(n); wait != nil {
			out = append(out, wait)
		}
	}
	return out
}

// copyNode returns a deep copy of a node with its aliases resolved, except those of keys.
func copyNode(n *yaml.Node) *yaml.Node {
	c := *resolveAlias(n)
	c.Content = slices.Clone(c.Content)
	for i, child := range c.Content {
		if isKey := c.Kind == yaml.MappingNode && i%2 == 0; !isKey || child.Kind != yaml.AliasNode {
			c.Content[i] = copyNode(child)
		}
	}
	return &c
}

// splitTestCommand takes the test_command of a reboot out of its task, and returns a wait_for with this command, under
// the same conditions. Without one it returns nil.
func splitTestCommand(n *yaml.Node) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	arguments := valueOf(n, engine.RebootTask)
	if arguments == nil {
		return nil
	}
	command := valueOf(arguments, "test_command")
	if command == nil || command.Kind != yaml.ScalarNode {
		return nil
	}
	removeWords(arguments, map[string][]string{"test_command": {anyValue}})
	scalar := func(text string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: command.Line, Column: command.Column}
	}
	mapping := func(content ...*yaml.Node) *yaml.Node {
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: command.Line, Column: command.Column, Content: content}
	}
	wait := mapping(scalar(engine.WaitForTaskName), mapping(scalar("command"), command))
	for _, key := range []string{"when", "tags"} {
		if v := valueOf(n, key); v != nil {
			wait.Content = append(wait.Content, scalar(key), v)
		}
	}
	return wait
}

// effectlessModule returns the module of a task that is dropped, or "".
func effectlessModule(n *yaml.Node) string {
	names := keysOf(n)
	if n.Kind == yaml.ScalarNode {
		names = []string{n.Value}
	}
	for _, name := range names {
		if slices.Contains(tasksWithoutEffect(), name) {
			return name
		}
	}
	return ""
}

// harmlessWords lists keys that change nothing in a task that is dropped. They have no effect of their own.
func harmlessWords() []string {
	return []string{"loop", "loop_control", "until", "retries", "delay", "timeout", "async", "poll", "notify", "listen", "args", "remote_user", "port", "become_flags", "become_exe"}
}

// droppedTask checks a task that is dropped.
type droppedTask struct {
	*loader
	list, module string
}

// checkKeys reports keys that may have an effect. With a second module, a dash is likely missing, and the other module
// must not be dropped.
func (l droppedTask) checkKeys(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return
	}
	words := fieldNames(taskFields())
	for _, m := range allModules() {
		words = append(words, m.name)
	}
	entries, hasDropped := l.readMapping(n), false
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		name := key.Value
		_, isModule := findModule(name)
		switch {
		case entries[name].key != key: // already reported
		case name == l.module:
			hasDropped = true
		case isModule && !hasDropped:
			l.addProblem(entries[l.module].key, "the task has both "+name+" and "+l.module, "make it two tasks")
		case isModule || slices.Contains(tasksWithoutEffect(), name):
			l.addProblem(key, "the task has both "+l.module+" and "+name, "make it two tasks")
		case slices.Contains(words, name), taskWordsWithoutEffect()[name] != nil, slices.Contains(harmlessWords(), name), strings.HasPrefix(name, "with_"):
		default:
			l.addProblem(key, fmt.Sprintf("a task has no %q", name), adviseOn(name, unsupportedTaskKeys(l.list, n), words))
		}
	}
}

// refuseEmptyPlay refuses a play whose tasks were all dropped.
func (l *loader) refuseEmptyPlay(n *yaml.Node, dropped string) {
	l.addProblem(n, fmt.Sprintf("the play has no other task than %q", dropped), "it changes nothing; add a task such as "+engine.ConfigTask+" or "+engine.RebootTask)
}

// isImport reports whether an element of a playbook includes another playbook.
func isImport(n *yaml.Node) (key *yaml.Node, is bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if name := shortName(n.Content[i].Value); name == "import_playbook" || name == "include" {
			return n.Content[i], true
		}
	}
	return nil, false
}
