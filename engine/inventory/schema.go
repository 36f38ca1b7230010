package inventory

import "strings"

// argument describes one argument of a block: for the decoder, its error messages, and the reference in
// docs/inventory-reference.md.
type argument struct {
	name     string
	kind     valueKind
	required bool
	filled   bool   // an empty list is an error
	fallback string // the default, for the reference
	meaning  string
}

// block describes a kind of block.
type block struct {
	name      string
	label     string // the meaning of its label, or "" if it has none
	many      bool   // may be given more than once
	meaning   string
	arguments []argument
	blocks    []block
}

// valueKind is the type of an argument's value.
type valueKind string

const (
	text           valueKind = "string"
	texts          valueKind = "list of strings"
	oneText        valueKind = "string or list of strings"
	number         valueKind = "number"
	boolean        valueKind = "bool"
	duration       valueKind = "duration"
	countOrPercent valueKind = "number or percentage"
	size           valueKind = "size"
	anything       valueKind = "any"
)

// isUnsupported reports whether a name belongs to the full language but not to this version. The loader refuses such
// names, so that nobody relies on them.
func isUnsupported(where, name string) bool {
	words := map[string][]string{
		"pool":  {"vars"},
		"host":  {"vars"},
		"hosts": {"vars"},
		"os":    {"extensions", "kernel_type"},
		"drain": {"kubeconfig"},
	}
	for _, w := range words[where] {
		if w == name {
			return true
		}
	}
	return false
}

func sshBlock(meaning string) block {
	return block{name: "ssh", meaning: meaning, arguments: []argument{
		{name: "user", kind: text, fallback: "from ssh_config, else the user of holdfast", meaning: "user who logs in"},
		{name: "port", kind: number, fallback: "from ssh_config, else 22", meaning: "port of sshd"},
		{name: "known_hosts", kind: oneText, fallback: "those of ssh_config, else ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts", meaning: "files with the hosts' keys; always checked strictly, there is no \"off\""},
		{name: "identity", kind: oneText, fallback: "keys of the agent and of ssh_config, else ~/.ssh/id_ed25519, id_ecdsa and id_rsa", meaning: "private key files"},
		{name: "proxy_jump", kind: text, fallback: "from ssh_config", meaning: "jump hosts, [user@]host[:port], several with commas; \"none\" for none"},
		{name: "ssh_config", kind: text, fallback: "~/.ssh/config", meaning: "ssh_config to honour; \"none\" for none"},
		{name: "become", kind: text, fallback: "none", meaning: "\"sudo\", or \"none\" where the user is root"},
		{name: "become_password_file", kind: text, meaning: "file whose first line is the sudo password"},
		{name: "become_password_command", kind: text, meaning: "command on the bastion that prints the sudo password, within 1 minute; it has no terminal; to type the password, use -K"},
		{name: "connect_timeout", kind: duration, fallback: "that of ssh_config, else 10s", meaning: "until logged in, for each hop"},
		{name: "keep_alive", kind: duration, fallback: "ServerAliveInterval of ssh_config, else 5s", meaning: "silence before a keepalive is sent; three without answer end the connection, or as many as ServerAliveCountMax of ssh_config says if it has the interval"},
	}}
}

func hostArguments() []argument {
	return []argument{
		{name: "address", kind: text, required: true, meaning: "name or IP address, as for ssh"},
		{name: "pool", kind: text, required: true, meaning: "the pool the host belongs to"},
		{name: "etcd_cluster", kind: text, fallback: "none", meaning: "the etcd cluster the host is a member of"},
		{name: "etcd_retired", kind: boolean, fallback: "false", meaning: "`holdfast etcd members` removes its member from its `etcd_cluster`, which must have `manage = true`"},
		{name: "near_etcd_cluster", kind: text, fallback: "none", meaning: "an etcd cluster whose members share a disk or a link with the host; while the host is staged, the `latency` limits of that cluster apply"},
		{name: "kubernetes", kind: text, fallback: "its pool's", meaning: "the Kubernetes cluster the host is a node of"},
		{name: "zone", kind: text, fallback: "none", meaning: "rack, row or room; a batch keeps to one zone of a pool"},
		{name: "configs", kind: oneText, fallback: "[]", meaning: "files or folders of configurations for it alone; they win over the pool's"},
		{name: "paused", kind: boolean, fallback: "false", meaning: "it is not changed, and roll-outs stay unfinished"},
		{name: "maintenance", kind: text, fallback: "none", meaning: "why people work on it: it is not changed, counts as unavailable, and each plan names it"},
		{name: "leaving", kind: boolean, fallback: "false", meaning: "it is being deleted: no run connects to it, and it does not count as missing. A member of an etcd cluster needs `etcd_retired` first"},
		{name: "ignore_etcd", kind: boolean, fallback: "false", meaning: "it may be disrupted although etcd seems to run there and it is in no `etcd_cluster`, or another etcd runs beside its member"},
	}
}

func hostBlocks() []block {
	return []block{
		configBlock("A document for each of these hosts alone, in the inventory itself; it follows those in `configs`."), sshBlock("Settings that differ from the pool's."),
		bmcBlock("The management controller of the host, over Redfish (docs/maintenance.md). A missing setting has the value of the pool's block."), powerBlock(),
	}
}

func bmcBlock(meaning string) block {
	return block{name: "bmc", meaning: meaning, arguments: []argument{
		{name: "address", kind: text, meaning: "name or IP address, with the port if it is not 443"},
		{name: "system", kind: text, fallback: "its only one", meaning: "ID of the system of the host, such as \"1\" or \"System.Embedded.1\""},
		{name: "ca", kind: text, fallback: "the CAs of the bastion", meaning: "file with the CA of its certificate, in PEM"},
		{name: "fingerprint", kind: text, meaning: "SHA-256 of its certificate, in hexadecimal digits; instead of ca"},
		{name: "user", kind: text, meaning: "account that may switch the power"},
		{name: "password_file", kind: text, meaning: "file whose first line is the password"},
		{name: "password_command", kind: text, meaning: "command on the bastion that prints the password, within 15 seconds; instead of password_file"},
	}}
}

func powerBlock() block {
	return block{name: "power", meaning: "Commands on the bastion that switch the power without Redfish, such as ipmitool or those of a PDU, instead of bmc. They have HOLDFAST_HOST, HOLDFAST_ADDRESS and HOLDFAST_POOL set, and 10 seconds each.", arguments: []argument{
		{name: "on", kind: text, required: true, meaning: "switches the power on"},
		{name: "off", kind: text, required: true, meaning: "switches the power off, at once"},
		{name: "status", kind: text, required: true, meaning: "prints the power: the last word of its output is on or off"},
	}}
}

func configBlock(meaning string) block {
	return block{name: "config", label: "file name", many: true, meaning: meaning, arguments: []argument{
		{name: "content", kind: text, required: true, meaning: "the document, in the format of the label's ending; often `templatefile(…)`. It may have sensitive values"},
	}}
}

func policyBlock(meaning string) block {
	return block{name: "policy", many: true, meaning: meaning, arguments: []argument{
		{name: "path", kind: text, meaning: "a path on the host, and everything below it"},
		{name: "glob", kind: text, meaning: "a pattern of paths (`*` does not cross `/`), and everything below a match; instead of path"},
		{name: "unit", kind: text, meaning: "a systemd unit by its exact name; instead of path"},
		{name: "actions", kind: oneText, required: true, meaning: "any of \"none\", \"drain\", \"daemon-reload\", \"reload UNIT\", \"restart UNIT\", \"reboot\""},
		{name: "timeout", kind: duration, fallback: "2m", meaning: "for each reload or restart; one that takes longer has failed"},
	}}
}

func rangeArgument() argument {
	return argument{name: "range", kind: text, required: true, meaning: "numbers such as \"01-48\" or \"1-3,7\"; leading zeros are kept. ${id} is the number"}
}

func rangeNameArgument() argument {
	return argument{name: "name", kind: text, fallback: "LABEL-NUMBER", meaning: "the name of each host, such as \"www${id}.example.com\""}
}

func inventorySchema() block {
	return block{name: "inventory", blocks: []block{
		siteBlock(),
		{name: "variable", label: "name", many: true, meaning: "A value given from outside: --var NAME=VALUE, --var-file, or HOLDFAST_VAR_NAME. Used as var.NAME.", arguments: []argument{
			{name: "default", kind: anything, fallback: "none; then a value must be given", meaning: "its value if none is given"},
			{name: "type", kind: text, fallback: "the default's, else \"string\"", meaning: "\"string\", \"number\" or \"bool\""},
			{name: "sensitive", kind: boolean, fallback: "false", meaning: "never shown in any output"},
			{name: "description", kind: text, meaning: "for people"},
		}},
		{name: "locals", many: true, meaning: "Values with names, used as local.NAME. They may refer to variables and to each other, in any order and across files."},
		etcdBlock(), kubernetesBlock(), poolBlock(),
		{name: "host", label: "name", many: true, meaning: "One machine.", arguments: hostArguments(), blocks: hostBlocks()},
		{name: "hosts", label: "prefix", many: true, meaning: "A range of machines.", arguments: append([]argument{rangeArgument(), rangeNameArgument()}, hostArguments()...), blocks: hostBlocks()},
		policyBlock("A rule for all pools, as `pool policy`. A pool's own rules come first, and replace rules here with the same path, glob or unit."),
	}}
}

func etcdBlock() block {
	return block{name: "etcd_cluster", label: "name", many: true, meaning: "An etcd cluster. Its members are the hosts that name it; they must match its own member list.", arguments: []argument{
		{name: "client_port", kind: number, fallback: "2379", meaning: "port its members listen on for clients"},
		{name: "snapshot", kind: boolean, fallback: "true", meaning: "save it to the bastion before a run's first disruption"},
		{name: "snapshot_folder", kind: text, fallback: "snapshots beside the journals", meaning: "folder on the bastion for the snapshots of runs; each site has a folder in it"},
		{name: "snapshot_keep", kind: number, fallback: "10", meaning: "how many snapshots are kept; a run that takes one removes others. The newest one and the snapshots of unfinished runs are always kept"},
		{name: "snapshot_max_age", kind: duration, fallback: "30d", meaning: "snapshots that are older are removed, too"},
		{name: "timeout", kind: duration, fallback: "5s plus 30 round trips of the farthest member's SSH connection, at most 1m", meaning: "for gathering facts from all members; a member that does not answer within two fifths of it is unhealthy"},
		{name: "governor", kind: boolean, fallback: "true", meaning: "slows the staging of its members, and of hosts that name it as `near_etcd_cluster`, to keep the disk latency of the cluster within `latency`"},
		{name: "allow_outage", kind: boolean, fallback: "false", meaning: "lets a cluster of one or two voters lose its quorum while a member reboots or restarts; without it, this is refused"},
		{name: "manage", kind: boolean, fallback: "false", meaning: "lets `holdfast etcd members` add and remove its members, until the hosts that name it are its voters. Their addresses must have no zone, such as %eth0"},
		{name: "peer_port", kind: number, fallback: "2380", meaning: "port its members listen on for each other; with `manage`"},
		{name: "data_dir", kind: text, fallback: "\"/var/lib/etcd/default\"", meaning: "etcd's data directory on its members; with `manage`. No mount point, but it may be a folder of one"},
		{name: "unit", kind: text, fallback: "\"etcd.service\"", meaning: "systemd service that runs etcd on its members; with `manage`"},
		{name: "survive_soft_reboots", kind: boolean, fallback: "false", meaning: "lets etcd keep running during a soft reboot of its host; with `manage`. `holdfast etcd members apply` writes a drop-in for the unit, and restarts one member at a time ([reboots.md](reboots.md#let-etcd-run-on))"},
		{name: "hook", kind: text, meaning: "command on the bastion after each change of its voters, within 5 minutes, with HOLDFAST_CLUSTER, HOLDFAST_ENDPOINTS (client URLs, with commas) and HOLDFAST_RUN set; with `manage`. It must do no harm when it runs twice"},
	}, blocks: []block{
		tlsBlock("Client credentials, as paths on the members. Without it, plain HTTP, unless there is a block `ca`."),
		{name: "ca", meaning: "The CA with which `holdfast etcd members` issues and renews the certificates of members; with `manage`, and instead of `tls`.", arguments: []argument{
			{name: "cert", kind: text, required: true, meaning: "file on the bastion with its certificate. Another one replaces the CA"},
			{name: "key", kind: text, meaning: "file on the bastion with its private key, without a passphrase"},
			{name: "sign_command", kind: texts, filled: true, meaning: "program on the bastion that signs instead of `key`, with its arguments: it gets a PEM certificate request on standard input, and prints the PEM certificate, within 1 minute. No shell reads it", fallback: "the key in `key`"},
			{name: "also_trust", kind: oneText, fallback: "[]", meaning: "files on the bastion with CAs that members trust in addition: one that signs only clients, or the previous CA until its clients have other certificates"},
			{name: "clients_done", kind: oneText, fallback: "[]", meaning: "SHA-256 fingerprints of replaced CAs from which no client has a certificate any more. Members trust a replaced CA until it is named here"},
			{name: "server_names", kind: oneText, fallback: "[]", meaning: "more DNS names and IP addresses of server certificates, such as the name of a load balancer, or a name that leads to all members"},
			{name: "lifetime", kind: duration, fallback: "365d", meaning: "of the certificates that `key` signs"},
			{name: "folder", kind: text, fallback: "\"/etc/etcd/pki\"", meaning: "folder of keys and certificates on the members. Only root may be able to write to it and to all folders above it"},
		}},
		settingsBlock(),
		{name: "latency", meaning: "Limits of its disk latency while hosts on or near it are staged. The limit of a member is at least 1.25 times its idle latency. With `governor = false` there are no limits.", arguments: []argument{
			{name: "wal_fsync_p99", kind: duration, fallback: "10ms", meaning: "99th percentile of `etcd_disk_wal_fsync_duration_seconds`"},
			{name: "backend_commit_p99", kind: duration, fallback: "25ms", meaning: "99th percentile of `etcd_disk_backend_commit_duration_seconds`"},
			{name: "abort_after", kind: duration, fallback: "5m", meaning: "staging stops if, at the slowest pace, a limit is exceeded for this time, or a member does not answer or completes no writes"},
		}},
		{name: "metrics", meaning: "Where members serve `/metrics`, if etcd runs with `--listen-metrics-urls`. Without it, holdfast reads them from the client port.", arguments: []argument{
			{name: "port", kind: number, required: true, meaning: "port of the listener, on the member's loopback or address"},
			{name: "scheme", kind: text, fallback: "\"https\" with a tls block in it, else \"http\"", meaning: "\"http\" or \"https\", as in the URL; https without a tls block uses the cluster's"},
		}, blocks: []block{tlsBlock("Client credentials for the metrics, if they are not the cluster's.")}},
	}}
}

func settingsBlock() block {
	return block{name: "settings", meaning: "Settings of etcd on its members, which `holdfast etcd members` writes and changes, one member at a time; with `manage`. A missing setting has the value of the unit, or etcd's default.", arguments: []argument{
		{name: "quota_backend_bytes", kind: text, meaning: "size at which the database accepts no more writes: bytes, or a number with a unit such as \"4GiB\""},
		{name: "heartbeat_interval", kind: duration, meaning: "between the heartbeats of the leader, in whole milliseconds"},
		{name: "election_timeout", kind: duration, meaning: "time without a heartbeat after which a member starts an election: at least five times `heartbeat_interval`, at most 50s"},
		{name: "auto_compaction_mode", kind: text, fallback: "\"periodic\" with `auto_compaction_retention`", meaning: "\"periodic\" or \"revision\""},
		{name: "auto_compaction_retention", kind: text, meaning: "history that is kept: hours or a duration such as \"30m\" (periodic), or a number of revisions; \"0\" keeps all"},
		{name: "derive_urls", kind: boolean, fallback: "false", meaning: "sets the URLs for clients to the address of the host and 127.0.0.1 with `client_port`, and those for other members to the address with `peer_port`. Each address must be an IP address"},
		{name: "wal_dir", kind: text, fallback: "a folder in `data_dir`", meaning: "folder of the write-ahead log. No mount point, but it may be a folder of one. It cannot be changed on a member"},
		{name: "wal_on_own_disk", kind: boolean, fallback: "false", meaning: "whether a host gets a member only if `wal_dir` is on another disk than `data_dir` and the system"},
		{name: "data_on_own_disk", kind: boolean, fallback: "false", meaning: "whether a host gets a member only if `data_dir` is on another disk than the system"},
		{name: "user", kind: text, fallback: "the unit's", meaning: "account that etcd runs as. It cannot be changed on a member"},
	}}
}

func tlsBlock(meaning string) block {
	return block{name: "tls", meaning: meaning, arguments: []argument{
		{name: "ca", kind: text, required: true, meaning: "certificate authority of the members"},
		{name: "cert", kind: text, required: true, meaning: "client certificate"},
		{name: "key", kind: text, required: true, meaning: "its key"},
	}}
}

func (b block) findArgument(name string) (argument, bool) {
	for _, a := range b.arguments {
		if a.name == name {
			return a, true
		}
	}
	return argument{}, false
}

func (b block) findBlock(name string) (block, bool) {
	for _, c := range b.blocks {
		if c.name == name {
			return c, true
		}
	}
	return block{}, false
}

func joinNames(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
