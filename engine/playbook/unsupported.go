package playbook

import (
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// This file lists words of Ansible that holdfast does not support, with advice.

func unsupportedWords() map[string]string {
	words := map[string]string{}
	put := func(advice string, list ...string) {
		for _, w := range list {
			words[w] = advice
		}
	}
	put("holdfast is root on hosts; for another user write the command with runuser: runuser -u USER -- COMMAND", "become", "become_user")
	put("the inventory sets the user and how it becomes root: ssh { user, become }",
		"become_method", "become_flags", "become_exe", "remote_user", "connection", "port")
	put("set variables in the command: cmd: NAME=${var.NAME} command", "environment")
	put("roles are not supported; write tasks into the play, and the desired state of hosts into configurations", "roles", "include_role", "import_role")
	put("policy blocks of the inventory set the actions of a change; write other actions as tasks", "handlers", "notify", "listen", "force_handlers")
	put("a failed task stops its host, which stays held; a command may ignore its failure: cmd: command || true", "ignore_errors", "ignore_unreachable", "failed_when")
	put("write the tasks one after the other; each may have when and tags", "block", "rescue", "always")
	put("outputs are not kept; write both into one command, or use wait_for", "register", "set_fact")
	put("plan shows all changes; apply asks before it makes them", "check_mode", "diff")
	put("a task runs on all hosts of a batch at once; serial sets the size of a batch", "throttle", "strategy", "forks", "run_once")
	put("set variables in vars, or with --var", "vars_files", "vars_prompt", "include_vars")
	put("plans and journals show all commands; keep secrets in files on the host", "no_log")
	put("modules are part of holdfast; write the arguments of a module below its name", "module_defaults", "collections", "args", "action", "local_action")
	put("the journal has all errors", "debugger")
	return words
}

func unsupportedPlayWords() map[string]string {
	words := unsupportedWords()
	facts := "facts are gathered before every batch; conditions have host, pool, zone, address and etcd_cluster"
	maps.Copy(words, map[string]string{
		"gather_facts": facts, "gather_subset": facts, "gather_timeout": facts, "fact_path": facts,
		"import_playbook": "a playbook cannot include another; copy its plays, or apply one after the other",
		"when":            "hosts selects the hosts; a task may have a when",
		"max_unavailable": "it belongs to the pools of the inventory and applies to every play; serial can be lower",
		"delegate_to":     "it belongs to a command",
	})
	return words
}

func unsupportedTaskWords() map[string]string {
	words := unsupportedWords()
	put := func(advice string, list ...string) {
		for _, w := range list {
			words[w] = advice
		}
	}
	put("loops are not supported; write one task for each element, or a loop in a command", "loop", "loop_control", "with_items", "with_list", "with_dict", "with_fileglob", "with_sequence")
	put("wait_for waits for a condition; apply can be repeated", "until", "retries", "delay")
	put("the timeout is an argument of the module: command: {cmd: …, timeout: 10m}", "timeout", "async", "poll")
	put("facts show whether a host matches; other tasks run once on each host of a run", "changed_when")
	put("variables belong to the play: move them to its vars", "vars")
	put("a play cannot include tasks; copy them into the play", "include_tasks", "import_tasks", "include")
	put("write command: it runs with sh, which supports pipes and &&", "script", "expect")
	put("the configurations of a host set its desired state; the task config applies it",
		"copy", "template", "file", "lineinfile", "blockinfile", "replace", "user", "group", "authorized_key", "cron", "sysctl", "hostname", "mount", "get_url", "unarchive", "ini_file")
	put("packages are part of the OS; stage and finalize install a new one", "package", "dnf", "yum", "apt", "rpm_key", "pip")
	put("use wait_for: {url: …}, or run curl with command", "uri")
	put("write a command with an exit status other than 0", "assert", "fail")
	put("facts are gathered before every batch; test a file in a command: test -e FILE", "stat", "slurp")
	put("it belongs to the play", "hosts", "serial", "max_fail_percentage", "order", "any_errors_fatal", "pre_tasks", "tasks", "post_tasks")
	return words
}

func unsupportedArguments(module string) map[string]string {
	switch module {
	case "reboot":
		return map[string]string{
			"reboot_timeout": `set it in the pool of the inventory, and remove it here: timeouts { reboot = "30m" }`,
			"test_command":   "remove it; a wait_for in post_tasks waits for a command: wait_for: {command: …}",
			"reboot_command": "remove it; the pool chooses the kind of reboot",
			"search_paths":   "remove it; holdfast finds the commands of the host",
		}
	case "pause":
		step := "apply --step asks before each batch"
		return map[string]string{"prompt": step, "echo": step}
	case "command":
		here := "write it into the command: cd /srv && …"
		inTasks := "only tasks may disrupt a host, because they hold and drain it"
		once := "check it in the command: test -e FILE || …"
		return map[string]string{
			"argv": "write one text; it runs with sh", "chdir": here, "executable": here, "stdin": here,
			"creates": once, "removes": once, "disrupts": inTasks, "drain": inTasks,
		}
	case "service":
		config := "the host's configuration decides whether a unit is enabled or runs"
		return map[string]string{"enabled": config, "masked": config, "daemon_reload": "the task config does it when a unit changes"}
	case "wait_for":
		here := "port and path are checked on the host itself; write a command for anything else"
		return map[string]string{"host": here, "state": here, "search_regex": here, "delay": "write a pause before it", "sleep": "it checks every few seconds"}
	}
	return nil
}

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
