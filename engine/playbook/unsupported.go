package playbook

import "maps"

// This file lists words of Ansible that holdfast does not support, with advice.

// unsupportedWords returns advice for words of both plays and tasks.
func unsupportedWords() map[string]string {
	words := map[string]string{}
	put := func(advice string, list ...string) {
		for _, w := range list {
			words[w] = advice
		}
	}
	put("who logs in, and how that becomes root, is in the inventory: ssh { user, become }",
		"become", "become_user", "become_method", "become_flags", "become_exe", "remote_user", "connection", "port")
	put("a variable reaches a command as ${var.NAME}: cmd: NAME=${var.NAME} command", "environment")
	put("there are no roles; write the tasks into the play, and what hosts are to be into configurations", "roles", "include_role", "import_role")
	put("what follows from a change is said by the policy blocks of the inventory; a task that must run is a task", "handlers", "notify", "listen", "force_handlers")
	put("a task that fails stops its host, which stays held; a command that may fail says so: cmd: command || true", "ignore_errors", "ignore_unreachable", "failed_when")
	put("write the tasks one after the other; each may have when and tags", "block", "rescue", "always")
	put("outputs are not kept; let one command do both, or ask with wait_for", "register", "set_fact")
	put("plan shows what would be done; apply asks before it does it", "check_mode", "diff")
	put("a play does one thing on all hosts of a batch at once; serial says how many", "throttle", "strategy", "forks", "run_once")
	put("name the variables in vars, or give them with --var", "vars_files", "vars_prompt", "include_vars")
	put("all commands are shown in plans and journals; keep secrets in files on the host", "no_log")
	put("modules are part of holdfast, and have their arguments with them", "module_defaults", "collections", "args", "action", "local_action")
	put("the journal has what went wrong", "debugger")
	return words
}

// unsupportedPlayWords returns advice for words of plays.
func unsupportedPlayWords() map[string]string {
	words := unsupportedWords()
	facts := "hosts are looked at before every batch; conditions know host, pool, zone, address and etcd_cluster"
	maps.Copy(words, map[string]string{
		"gather_facts": facts, "gather_subset": facts, "gather_timeout": facts, "fact_path": facts,
		"import_playbook":                 "playbooks are not put together; write its plays into this one, or apply one after the other",
		"ansible.builtin.import_playbook": "playbooks are not put together; write its plays into this one, or apply one after the other",
		"when":                            "hosts says which hosts; a task may have a when",
		"max_unavailable":                 "it belongs to the pools of the inventory, and holds in every play; serial can be less",
		"delegate_to":                     "it belongs to a command",
	})
	return words
}

// unsupportedTaskWords returns advice for words of tasks, including modules.
func unsupportedTaskWords() map[string]string {
	words := unsupportedWords()
	put := func(advice string, list ...string) {
		for _, w := range list {
			words[w] = advice
		}
	}
	put("there are no loops; write one task for each, or a loop in a command", "loop", "loop_control", "with_items", "with_list", "with_dict", "with_fileglob", "with_sequence")
	put("wait_for asks until something is so; apply can be run again", "until", "retries", "delay")
	put("a task with a timeout has it among its arguments: command: {cmd: …, timeout: 10m}", "timeout", "async", "poll")
	put("what matches is told by looking at the host; all else is carried out once on each host of a run", "changed_when")
	put("variables belong to the play: put them into its vars", "vars")
	put("tasks are not included; write them into the play", "include_tasks", "import_tasks", "include", "ansible.builtin.include_tasks", "ansible.builtin.import_tasks")
	put("write command: it runs with sh, so that pipes and && work", "shell", "raw", "script", "expect", "ansible.builtin.shell", "ansible.builtin.raw", "ansible.builtin.script")
	put("write service, with state: restarted or reloaded", "systemd", "systemd_service", "sysvinit")
	put("what hosts are to be is said by their configurations; the task config brings it to them",
		"copy", "template", "file", "lineinfile", "blockinfile", "replace", "user", "group", "authorized_key", "cron", "sysctl", "hostname", "mount", "get_url", "unarchive", "ini_file")
	put("packages are part of the OS; stage and finalize bring a new one", "package", "dnf", "yum", "apt", "rpm_key", "pip")
	put("ask with wait_for: {url: …}, or run curl with command", "uri")
	put("write a command that exits with another status than 0", "assert", "fail")
	put("all values are known before the run; plan shows them", "debug")
	put("holdfast waits for a host that reboots by itself", "wait_for_connection")
	put("hosts are looked at before every batch", "setup", "gather_facts", "service_facts", "stat", "slurp", "ping")
	put("it belongs to the play", "hosts", "serial", "max_fail_percentage", "order", "any_errors_fatal", "pre_tasks", "tasks", "post_tasks")
	for _, m := range allModules() {
		for _, collection := range []string{"ansible.builtin.", "ansible.legacy.", "holdfast."} {
			put("modules have short names: write "+m.name, collection+m.name)
		}
	}
	return words
}

// unsupportedArguments returns advice for arguments of a module.
func unsupportedArguments(module string) map[string]string {
	switch module {
	case "pause":
		step := "apply --step asks before each batch"
		return map[string]string{"prompt": step, "echo": step}
	case "command":
		here := "write it into the command: cd /srv && …"
		inTasks := "what disrupts a host belongs into tasks, where it is held and drained"
		once := "ask in the command: test -e FILE || …"
		return map[string]string{
			"argv": "write one text; it is run with sh", "chdir": here, "executable": here, "stdin": here,
			"creates": once, "removes": once, "disrupts": inTasks, "drain": inTasks,
		}
	case "service":
		config := "whether a unit is enabled or runs is up to the host's configuration"
		return map[string]string{"enabled": config, "masked": config, "daemon_reload": "it is done with the configuration, where a unit changes"}
	case "wait_for":
		here := "port and path are asked on the host itself; write a command for anything else"
		return map[string]string{"host": here, "state": here, "search_regex": here, "delay": "write a pause before it", "sleep": "it asks every few seconds"}
	}
	return nil
}
