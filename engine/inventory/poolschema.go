package inventory

func siteBlock() block {
	return block{name: "site", label: "name", meaning: "The site and how its hosts are reached. Exactly one.", arguments: []argument{
		{name: "max_unavailable", kind: countOrPercent, fallback: "no limit", meaning: "hosts of all pools together that may be unavailable at once, beside each pool's own limit; a percentage is one of all hosts"},
		{name: "failure_budget", kind: countOrPercent, fallback: "0", meaning: "that of pools which do not say it themselves"},
	}, blocks: []block{windowBlock("For pools without a window of their own."), sshBlock("Defaults for all hosts.")}}
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
	return block{name: "pool", label: "name", many: true, meaning: "Hosts that share a desired state and roll-out limits.", arguments: append(rolloutArguments(),
		argument{name: "configs", kind: oneText, fallback: "[]", meaning: "files or folders of configurations (docs/configs.md), merged in this order"},
		argument{name: "drift", kind: text, fallback: "\"repair\"", meaning: "what is done about hosts that were changed by others: \"repair\" makes them match again, \"report\" only tells"},
		argument{name: "on_action_failure", kind: text, fallback: "\"reboot\"", meaning: "what is done when a reload or restart fails: \"reboot\" drains and reboots the host, once; \"stop\" leaves it held and stops the run"},
	), blocks: []block{
		configBlock("A configuration written here. Those of a pool come after its `configs`, in the order in which they are written."),
		policyBlock("What makes a change of files or of a unit take effect; exactly one of path, glob and unit says which. It cannot be less than drain and reboot for network configuration."),
		osBlock(),
		{name: "canary", meaning: "Hosts that go before the others of the pool, alone. The others follow once these match, have run for the soak time, and the gates after them are passed.", arguments: []argument{
			{name: "hosts", kind: countOrPercent, fallback: "1", meaning: "how many: a count, or a percentage of the pool"},
			{name: "soak", kind: duration, fallback: "none", meaning: "how long they have to run before others follow"},
		}},
		windowBlock("A weekly time in which hosts of the pool may be disrupted. Without any, and without those of the site, it is any time. Staging is not bound to it."),
		{name: "drain", label: "name", meaning: "Moves work off a host before it is disrupted. The commands run on the bastion, with HOLDFAST_HOST, HOLDFAST_ADDRESS, HOLDFAST_POOL and HOLDFAST_RUN set.", arguments: []argument{
			{name: "command", kind: text, required: true, meaning: "moves work off"},
			{name: "undo", kind: text, meaning: "lets work back; also when the host is given back undisturbed"},
			{name: "timeout", kind: duration, fallback: "10m", meaning: "for each of them"},
		}},
		gateBlock(),
		{name: "timeouts", meaning: "Bounds for the steps of a host.", arguments: []argument{
			{name: "stage", kind: duration, fallback: "30m", meaning: "fetching the OS and putting it on disk"},
			{name: "reboot", kind: duration, fallback: "20m", meaning: "from the order to reboot until SSH answers from the new boot"},
			{name: "health", kind: duration, fallback: "10m", meaning: "from then until units, and etcd, are healthy"},
		}},
		sshBlock("What differs from the site."),
	}}
}

func rolloutArguments() []argument {
	return []argument{
		{name: "after", kind: texts, fallback: "[]", meaning: "pools that must match before this one is disrupted; hosts outside of `--limit` are not waited for"},
		{name: "paused", kind: boolean, fallback: "false", meaning: "nothing is done about its hosts, and no roll-out is complete without them"},
		{name: "max_unavailable", kind: countOrPercent, fallback: "1", meaning: "hosts that may be unavailable at once: a count, or a percentage (\"10%\") that rounds down but is at least 1"},
		{name: "failure_budget", kind: countOrPercent, fallback: "the site's, else 0", meaning: "hosts that may fail while others are still begun: a count, or a percentage that rounds down, to 0 too; with 0 none is begun after the first failure"},
		{name: "order", kind: text, fallback: "\"sorted\"", meaning: "how hosts follow each other: \"sorted\" by name, \"reverse_sorted\", \"inventory\", \"reverse_inventory\", or \"shuffle\", which is the same for the same OS; zones stay together"},
		{name: "batch_takes", kind: duration, fallback: "30m", meaning: "how long a batch is expected to take: none begins that would not end within the window"},
		{name: "max_skew", kind: number, fallback: "any", meaning: "minor versions that its hosts and those of the pools it comes after may be apart"},
		{name: "version_command", kind: text, fallback: "the version of the OS", meaning: "command on a host that prints the version that max_skew compares"},
		{name: "on_failure", kind: text, fallback: "\"hold\"", meaning: "what is done about a host that fails after its reboot: \"hold\" leaves it held as it is, \"rollback\" boots the OS it ran before, once for each OS"},
	}
}

func osBlock() block {
	return block{name: "os", meaning: "The operating system its hosts run, pinned by digest. With `driver` alone, the OS stays as it is, or is what a MachineConfig's osImageURL says, and kernel arguments are changed with that tool.", arguments: []argument{
		{name: "driver", kind: text, required: true, meaning: "\"ostree\", \"rpm-ostree\" or \"bootc\""},
		{name: "remote", kind: text, meaning: "ostree remote, as configured on the hosts"},
		{name: "ref", kind: text, meaning: "branch in that remote"},
		{name: "commit", kind: text, meaning: "ostree commit, 64 hexadecimal digits"},
		{name: "image", kind: text, meaning: "container image by digest, NAME@sha256:…; instead of remote, ref and commit (rpm-ostree, bootc)"},
		{name: "min_free", kind: size, fallback: "1GiB", meaning: "space that must be free before staging: \"500MiB\", \"2GiB\", or bytes; 0 checks nothing"},
		{name: "version", kind: text, fallback: "from its own label", meaning: "what it is for max_skew, such as \"4.16.3\", where its own label does not say"},
	}}
}

func gateBlock() block {
	return block{name: "gate", label: "name", many: true, meaning: "A question that must be answered well for the run to go on. Exactly one of command, host_command, http and promql asks it, again and again until its timeout.", arguments: []argument{
		{name: "command", kind: text, meaning: "command on the bastion that must exit 0; before_host and after_host it has HOLDFAST_HOST, HOLDFAST_ADDRESS and HOLDFAST_POOL set"},
		{name: "host_command", kind: text, meaning: "command on the host, as root, that must exit 0; before_batch and after_batch, on each host of the batch"},
		{name: "when", kind: texts, required: true, meaning: "any of " + joinNames(gatePoints())},
		{name: "timeout", kind: duration, fallback: "5m", meaning: "how long it is asked until the answer is good"},
		{name: "interval", kind: duration, fallback: "5s", meaning: "between two times of asking"},
		{name: "retries", kind: number, fallback: "any number, until the timeout", meaning: "answers that may be bad"},
		{name: "successes", kind: number, fallback: "1", meaning: "good answers in a row that it takes"},
	}, blocks: []block{
		{name: "http", meaning: "Asks a web server, from the bastion.", arguments: []argument{
			{name: "url", kind: text, required: true, meaning: "http or https; {pool} stands for the pool and, where it is about a host, {host} and {address} for the host"},
			{name: "status", kind: number, fallback: "any 2xx", meaning: "status that the answer must have"},
			{name: "match", kind: text, fallback: "anything", meaning: "regular expression (RE2) that must be found in the answer's body"},
		}},
		{name: "promql", meaning: "Asks Prometheus, from the bastion. The answer is good if the query gives a sample, as a comparison does where it holds, or a scalar that is not 0.", arguments: []argument{
			{name: "url", kind: text, required: true, meaning: "of the server, without /api/v1/query"},
			{name: "query", kind: text, required: true, meaning: "the query; {pool}, {host} and {address} as in http"},
		}},
	}}
}
