package inventory

func siteBlock() block {
	return block{name: "site", label: "name", meaning: "The site and how its hosts are reached. Exactly one.", arguments: []argument{
		{name: "max_unavailable", kind: countOrPercent, fallback: "no limit", meaning: "hosts of all pools together that may be unavailable at once, in addition to each pool's own budget; a percentage is of all hosts"},
		{name: "failure_budget", kind: countOrPercent, fallback: "0", meaning: "default for pools"},
	}, blocks: []block{
		windowBlock("For pools without a window of their own."),
		{name: "mirror", meaning: "Content on the bastion, for pools whose OS has `source = \"bastion\"` (docs/disconnected.md). `holdfast mirror` fills it.", arguments: []argument{
			{name: "repository", kind: text, fallback: "none", meaning: "folder of an ostree repository in archive mode, for the driver ostree"},
			{name: "layout", kind: text, fallback: "none", meaning: "folder of an OCI image layout, for the drivers rpm-ostree and bootc"},
			{name: "rate", kind: size, fallback: "no limit", meaning: "bytes per second to all hosts together: \"100MiB\""},
			{name: "host_rate", kind: size, fallback: "no limit", meaning: "bytes per second to each host; at least \"32KiB\""},
		}},
		{name: "on_end", meaning: "A command on the bastion at the end of each `apply`, `etcd members apply` and `etcd restore`, to send a mail, a message or a ticket ([every night](../playbooks/cron.md#tell-people-how-a-run-ended)). Its failure is a warning, and changes no exit code.", arguments: []argument{
			{name: "command", kind: text, required: true, meaning: "for `sh`, in the folder of the inventory. It gets the event `run-ended` as JSON on standard input, and HOLDFAST_SITE, HOLDFAST_RUN, HOLDFAST_EXIT and HOLDFAST_RUNS, the folder of the journals"},
			{name: "timeout", kind: duration, fallback: "1m", meaning: "at most 10m; the command then gets SIGTERM, and 5 seconds later SIGKILL"},
		}},
		sshBlock("Defaults for all hosts."),
	}}
}

func windowBlock(meaning string) block {
	return block{name: "window", many: true, meaning: meaning, arguments: []argument{
		{name: "days", kind: oneText, filled: true, fallback: "every day", meaning: "days on which it opens: \"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\", and ranges such as \"mon-fri\""},
		{name: "from", kind: text, required: true, meaning: "when it opens, HH:MM"},
		{name: "to", kind: text, required: true, meaning: "when it closes, HH:MM or \"24:00\"; earlier than `from` means on the next day"},
		{name: "timezone", kind: text, fallback: "\"UTC\"", meaning: "IANA time zone of both, such as \"Europe/Berlin\""},
	}}
}

func poolBlock() block {
	return block{name: "pool", label: "name", many: true, meaning: "Hosts that share a desired state and roll-out settings.", arguments: append(rolloutArguments(),
		argument{name: "configs", kind: oneText, fallback: "[]", meaning: "files or folders of configurations (docs/configs.md), merged in this order"},
		argument{name: "config_roles", kind: texts, fallback: "all", meaning: "roles of the MachineConfigs in `configs` that its hosts use, such as [\"worker\", \"infra\"]; documents without a role are always used"},
		argument{name: "kubernetes", kind: text, fallback: "none", meaning: "the Kubernetes cluster its hosts are nodes of"},
		argument{name: "drift", kind: text, fallback: "\"repair\"", meaning: "how to treat drift: \"repair\" makes the hosts match again, \"report\" only reports it"},
		argument{name: "on_action_failure", kind: text, fallback: "\"reboot\"", meaning: "reaction to a failed reload or restart: \"reboot\" drains and reboots the host, once; \"stop\" leaves it held and stops the run"},
	), blocks: []block{
		configBlock("A document in the inventory itself. The `config` blocks of a pool follow its `configs`, in the order of the file."),
		policyBlock("The actions that make a change of files or of a unit take effect. Set exactly one of path, glob and unit. Changes of the network configuration always need drain and reboot."),
		osBlock(),
		{name: "canary", meaning: "Hosts that are updated before the others of the pool. The others follow once these match, have run for the soak time, and have passed the gates after them.", arguments: []argument{
			{name: "hosts", kind: countOrPercent, fallback: "1", meaning: "how many: a count, or a percentage of the pool"},
			{name: "soak", kind: duration, fallback: "none", meaning: "how long they must run before others follow"},
		}},
		windowBlock("A weekly time when hosts of the pool may be disrupted. A pool without windows has the site's; without those, any time is good. Staging does not wait for a window."),
		drainBlock(),
		{name: "reboot", meaning: "The kinds of reboot that its hosts may get (docs/reboots.md).", arguments: []argument{
			{name: "soft", kind: text, fallback: "\"never\"", meaning: "\"never\": each reboot is a full one; \"auto\": a host soft reboots if that is enough and possible, else it reboots in full; \"require\": a host that would need a full reboot is left out"},
			{name: "kexec", kind: text, fallback: "\"never\"", meaning: "\"never\": no reboot is a kexec; \"auto\": a host boots its next kernel from the running one, without firmware and boot loader, if it does not soft reboot and a kexec is enough and possible"},
			{name: "reset_after", kind: duration, fallback: "never", meaning: "a host that does not answer at all for this time in a reboot of a run is reset once through its BMC ([maintenance.md](maintenance.md#hosts-that-do-not-come-back)); needs the block `bmc`"},
			{name: "keep", kind: texts, meaning: "services that run on during a soft reboot, such as `[\"app.service\"]`: each gets a drop-in, and restarts into the new OS once the host is back ([reboots.md](reboots.md#let-other-services-run-on)). Not etcd, which has `survive_soft_reboots`"},
		}},
		gateBlock(),
		{name: "timeouts", meaning: "Bounds for the steps of a host.", arguments: []argument{
			{name: "stage", kind: duration, fallback: "30m; 2h on or near a governed etcd cluster", meaning: "fetching the OS and putting it on disk"},
			{name: "reboot", kind: duration, fallback: "20m", meaning: "from the order to reboot until SSH answers from the new boot"},
			{name: "health", kind: duration, fallback: "10m", meaning: "from then until units, and etcd, are healthy"},
		}},
		sshBlock("Settings that differ from the site's."),
		bmcBlock("Settings that the management controllers of its hosts share."), powerBlock(),
	}}
}

func rolloutArguments() []argument {
	return []argument{
		{name: "after", kind: texts, fallback: "[]", meaning: "pools that must match before this one is disrupted; hosts outside of `--limit` do not count"},
		{name: "paused", kind: boolean, fallback: "false", meaning: "its hosts are not changed, and roll-outs stay unfinished"},
		{name: "max_unavailable", kind: countOrPercent, fallback: "1", meaning: "hosts that may be unavailable at once: a count, or a percentage (\"10%\") that rounds down but is at least 1"},
		{name: "failure_budget", kind: countOrPercent, fallback: "the site's, else 0", meaning: "how many hosts may fail: a count, or a percentage that rounds down, also to 0. After one more failure, no other host is started"},
		{name: "order", kind: text, fallback: "\"sorted\"", meaning: "how hosts follow each other: \"sorted\" by name, \"reverse-sorted\", \"inventory\", \"reverse-inventory\", or \"shuffle\", which is the same for the same OS; zones stay together"},
		{name: "batch_takes", kind: duration, fallback: "30m", meaning: "expected duration of a batch: none starts that would not end within the window"},
		{name: "max_skew", kind: number, fallback: "any", meaning: "how many minor versions its hosts and the hosts of the pools in `after` may be apart"},
		{name: "version_command", kind: text, fallback: "the version of the OS", meaning: "command on a host that prints the version that max_skew compares"},
		{name: "version_of", kind: text, fallback: "\"os\"", meaning: "the version that max_skew compares without a version_command: \"os\", or \"kubelet\", which the Kubernetes node of the host reports; then the `os` block needs `version`, that of its kubelet"},
		{name: "on_failure", kind: text, fallback: "\"hold\"", meaning: "reaction to a host that fails after its reboot: \"hold\" leaves it held, \"rollback\" boots its previous OS, once for each OS"},
	}
}

func osBlock() block {
	return block{name: "os", meaning: "The operating system of its hosts, pinned by digest. With `driver` alone, the OS is the osImageURL of a MachineConfig if there is one, else it stays, and kernel arguments are changed with that tool.", arguments: []argument{
		{name: "driver", kind: text, required: true, meaning: "\"ostree\", \"rpm-ostree\" or \"bootc\""},
		{name: "remote", kind: text, meaning: "ostree remote, as configured on the hosts"},
		{name: "ref", kind: text, meaning: "branch in that remote"},
		{name: "commit", kind: text, meaning: "ostree commit, 64 hexadecimal digits"},
		{name: "image", kind: text, meaning: "container image by digest, NAME@sha256:…; instead of remote, ref and commit (rpm-ostree, bootc)"},
		{name: "min_free", kind: size, fallback: "1GiB", meaning: "space that must be free before staging: \"500MiB\", \"2GiB\", or bytes; 0 checks nothing"},
		{name: "source", kind: text, fallback: "as configured on the hosts", meaning: "\"bastion\": hosts fetch the OS from the site's mirror, through their SSH connections: a commit (ostree) or an image (rpm-ostree, bootc)"},
		{name: "version", kind: text, fallback: "from its own label", meaning: "version for max_skew, such as \"4.16.3\", if the OS has no label with it"},
	}}
}

func gateBlock() block {
	return block{name: "gate", label: "name", many: true, meaning: "A question that must be answered well before the run goes on. Exactly one of command, host_command, http and promql asks it, again and again until its timeout.", arguments: []argument{
		{name: "command", kind: text, meaning: "command on the bastion that must exit 0; before-host and after-host it has HOLDFAST_HOST, HOLDFAST_ADDRESS and HOLDFAST_POOL set"},
		{name: "host_command", kind: text, meaning: "command on the host, as root, that must exit 0; before-batch and after-batch, on each host of the batch"},
		{name: "when", kind: texts, required: true, meaning: "any of " + joinNames(gatePoints())},
		{name: "timeout", kind: duration, fallback: "5m", meaning: "how long to wait for a good answer"},
		{name: "interval", kind: duration, fallback: "5s", meaning: "time between two answers"},
		{name: "retries", kind: number, fallback: "any number, until the timeout", meaning: "answers that may be bad"},
		{name: "successes", kind: number, fallback: "1", meaning: "good answers in a row that it needs"},
	}, blocks: []block{
		{name: "http", meaning: "Asks a web server, from the bastion.", arguments: []argument{
			{name: "url", kind: text, required: true, meaning: "http or https; {pool} is replaced by the pool and, in gates about a host, {host} and {address} by the host's"},
			{name: "status", kind: number, fallback: "any 2xx", meaning: "status that the answer must have"},
			{name: "match", kind: text, fallback: "anything", meaning: "regular expression (RE2) that must be found in the answer's body"},
		}},
		{name: "promql", meaning: "Asks Prometheus, from the bastion. The answer is good if the query returns a sample, as a comparison does where it holds, or a scalar that is not 0.", arguments: []argument{
			{name: "url", kind: text, required: true, meaning: "of the server, without /api/v1/query"},
			{name: "query", kind: text, required: true, meaning: "the query; {pool}, {host} and {address} as in http"},
		}},
	}}
}
