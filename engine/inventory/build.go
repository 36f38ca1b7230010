package inventory

import (
	"cmp"
	"fmt"
	"regexp"
	"time"

	"github.com/hashicorp/hcl/v2"

	"holdfast/engine"
)

// declaration is the place of a name. An hcl.Range for each host would need three times the memory.
type declaration struct {
	file string
	line int
}

// builder turns checked blocks into an inventory.
type builder struct {
	*loader
	root     *node
	scope    *scope
	inv      engine.Inventory
	warnings []string

	declared      map[string]map[string]declaration // by kind and name
	hostByAddress map[Way]string
	wayUnknown    bool // a port or a jump host has no value because of an error
	siteSSH       engine.SSH
	poolSSH       map[string]engine.SSH
	retired       []retiredHost

	sitePolicy  []engine.Rule
	siteBudget  engine.CountOrPercent // of failures
	siteWindows []engine.Window

	poolPower  map[string]powerSettings
	hostsByBMC map[string][]engine.Host // by the address of the BMC
}

func (b *builder) buildInventory() {
	b.scope = b.newScope(b.root)
	b.declared, b.hostByAddress, b.poolSSH = map[string]map[string]declaration{}, map[Way]string{}, map[string]engine.SSH{}
	b.poolPower, b.hostsByBMC = map[string]powerSettings{}, map[string][]engine.Host{}
	if site := b.root.childBlock("site"); site != nil {
		b.readSite(site)
	} else if !b.mentionsBlock("site") {
		b.addGlobalError("the inventory has no site block", `begin it with site "NAME" { ssh { … } }`)
	}
	for _, n := range b.root.childBlocks("etcd_cluster") {
		clusterReader{b}.readCluster(n)
	}
	for _, n := range b.root.childBlocks("kubernetes") {
		kubernetesReader{b}.readCluster(n)
	}
	b.sitePolicy, _ = b.readRules(b.root)
	for _, n := range b.root.childBlocks("pool") {
		b.readPool(n)
	}
	readHosts(b)
	b.checkInventory()
}

var (
	nameRule = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)
	hostRule = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
)

// maxName is the largest size of a name, in bytes.
const maxName = 253

// IsName reports whether a site or a pool may have a name.
func IsName(name string) bool { return nameRule.MatchString(name) && len(name) <= maxName }

func (b *builder) checkName(kind string, n *node, rule *regexp.Regexp) string {
	if !rule.MatchString(n.label) || len(n.label) > maxName {
		b.addError(n.at, fmt.Sprintf("%q is not a valid %s name", n.label, kind), "use letters, digits, dot, dash and underscore, beginning with a letter or digit")
		return n.label
	}
	return b.claimName(kind, n.label, n.at)
}

func (b *builder) claimName(kind, name string, at hcl.Range) string {
	if b.declared[kind] == nil {
		b.declared[kind] = map[string]declaration{}
	}
	if first, twice := b.declared[kind][name]; twice {
		b.addError(at, fmt.Sprintf("a second %s %q", kind, name), fmt.Sprintf("the first is at %s:%d; remove one or rename it", first.file, first.line))
	} else {
		b.declared[kind][name] = declaration{at.Filename, at.Start.Line}
	}
	return name
}

func (b *builder) readSite(n *node) {
	r := b.newReader(n)
	b.inv.Site = b.checkName("site", n, nameRule)
	b.inv.MaxUnavailable, b.siteBudget = r.readCountOrPercent("max_unavailable", 1), r.readCountOrPercent("failure_budget", 0)
	b.siteWindows = b.readWindows(n)
	if m := n.childBlock("mirror"); m != nil {
		b.inv.Mirror = b.readMirror(m)
	}
	if end := n.childBlock("on_end"); end != nil {
		b.inv.OnEnd = readOnEnd(b, end)
	}
	b.siteSSH = b.readSSH(engine.SSH{}, n.childBlock("ssh"))
}

func readOnEnd(b *builder, n *node) *engine.OnEnd {
	r := b.newReader(n)
	end := &engine.OnEnd{Command: r.readText("command"), Timeout: cmp.Or(r.readDuration("timeout"), engine.Duration(time.Minute))}
	if end.Timeout > engine.MaxOnEnd {
		b.addError(n.args["timeout"].Expr.Range(), "timeout is longer than "+engine.MaxOnEnd.Trimmed(), "write at most "+engine.MaxOnEnd.Trimmed()+"; the command could start a longer job")
	}
	return end
}

func (b *builder) newReader(n *node) reader { return reader{scope: b.scope, node: n} }

// readSSH reads an ssh block. Arguments that are not set keep the value of the outer block.
func (b *builder) readSSH(s engine.SSH, n *node) engine.SSH {
	if n == nil {
		return s
	}
	r := b.newReader(n)
	b.wayUnknown = b.wayUnknown || r.isWrong("port", "proxy_jump")
	s.User = cmp.Or(r.readText("user"), s.User)
	s.Port = r.readPort("port", s.Port)
	s.Identities = orList(r.readFiles("identity"), s.Identities)
	s.KnownHosts = orList(r.readFiles("known_hosts"), s.KnownHosts)
	s.ProxyJump = cmp.Or(r.readText("proxy_jump"), s.ProxyJump)
	s.Become = b.readBecome(r, s.Become)
	s = b.readSudoPassword(r, s)
	if config := r.readText("ssh_config"); config != "" && config != "none" {
		s.SSHConfig = r.readPath("ssh_config")
	} else {
		s.SSHConfig = cmp.Or(config, s.SSHConfig)
	}
	if d := r.readDuration("connect_timeout"); d > 0 {
		s.ConnectTimeout = d
	}
	if d := r.readDuration("keep_alive"); d > 0 {
		s.KeepAlive = d
	}
	return s
}

// readSudoPassword reads the source of the sudo password. A file or a command replaces the file or command of an outer
// block.
func (b *builder) readSudoPassword(r reader, s engine.SSH) engine.SSH {
	file, command := r.readFile("become_password_file"), r.readText("become_password_command")
	switch {
	case file != "" && command != "":
		b.addError(r.node.args["become_password_command"].NameRange, "the sudo password comes from two places", "remove become_password_file or become_password_command")
	case file != "" || command != "":
		s.BecomePasswordFile, s.BecomePasswordCommand = file, command
	}
	return s
}

func (b *builder) readBecome(r reader, before string) string {
	switch v := r.readText("become"); v {
	case "":
		return before
	case "none":
		return ""
	case "sudo":
		return v
	default:
		b.addError(r.node.args["become"].Expr.Range(), fmt.Sprintf(`become must be "sudo" or "none", not %q`, v), "")
		return before
	}
}

func orList(a, fallback []string) []string {
	if len(a) == 0 {
		return fallback
	}
	return a
}
