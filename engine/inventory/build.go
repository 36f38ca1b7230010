package inventory

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"holdfast/engine"
)

// builder turns checked blocks into an inventory and checks what they say.
type builder struct {
	*loader
	root     *node
	scope    *scope
	inv      engine.Inventory
	warnings []string

	seen    map[string]map[string]hcl.Range // by kind and name
	address map[string]string               // host by where it is reached
	siteSSH engine.SSH
	poolSSH map[string]engine.SSH

	sitePolicy  []engine.Rule
	siteBudget  engine.Limit // of failures
	siteWindows []engine.Window
}

func (b *builder) build() {
	b.scope = b.newScope(b.root)
	b.seen, b.address, b.poolSSH = map[string]map[string]hcl.Range{}, map[string]string{}, map[string]engine.SSH{}
	if site := b.root.one("site"); site != nil {
		b.site(site)
	} else if !b.mentions("site") {
		b.failNowhere("the inventory has no site block", `begin it with site "NAME" { ssh { … } }`)
	}
	for _, n := range b.root.all("etcd_cluster") {
		b.cluster(n)
	}
	b.sitePolicy, _ = b.rulesOf(b.root)
	for _, n := range b.root.all("pool") {
		b.pool(n)
	}
	for _, n := range b.root.all("host") {
		b.host(n, n.label, "")
	}
	for _, n := range b.root.all("hosts") {
		b.hosts(n)
	}
	b.check()
}

var (
	nameRule = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)
	hostRule = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
)

// name checks the label of a block: well formed, and the only one of its kind.
func (b *builder) name(kind string, n *node, rule *regexp.Regexp) string {
	if !rule.MatchString(n.label) || len(n.label) > 253 {
		b.fail(n.at, fmt.Sprintf("%q is no %s name", n.label, kind), "letters, digits, dot, dash and underscore, beginning with a letter or digit")
		return n.label
	}
	return b.unique(kind, n.label, n.at)
}

func (b *builder) unique(kind, name string, at hcl.Range) string {
	if b.seen[kind] == nil {
		b.seen[kind] = map[string]hcl.Range{}
	}
	if first, twice := b.seen[kind][name]; twice {
		b.fail(at, fmt.Sprintf("a second %s %q", kind, name), fmt.Sprintf("the first is at %s:%d; take one out or give it another name", first.Filename, first.Start.Line))
	} else {
		b.seen[kind][name] = at
	}
	return name
}

// site reads what holds for all pools and hosts.
func (b *builder) site(n *node) {
	r := b.read(n)
	b.inv.Site = b.name("site", n, nameRule)
	b.inv.MaxUnavailable, b.siteBudget = r.limit("max_unavailable", 1), r.limit("failure_budget", 0)
	b.siteWindows = b.windows(n)
	b.siteSSH = b.ssh(engine.SSH{}, n.one("ssh"))
}

func (b *builder) read(n *node) reader { return reader{s: b.scope, n: n} }

func (b *builder) cluster(n *node) {
	r := b.read(n)
	c := engine.Cluster{
		Name: b.name("etcd_cluster", n, nameRule), ClientPort: r.port("client_port", 2379),
		NoSnapshot: !r.truth("snapshot", true), AllowOutage: r.truth("allow_outage", false),
		Timeout: r.span("timeout"),
	}
	c.Snapshots.Folder = r.path("snapshot_folder")
	c.Snapshots.Keep, _ = r.whole("snapshot_keep", "a number of snapshots", 1, 10_000)
	c.Snapshots.MaxAge = r.span("snapshot_max_age")
	if t := n.one("tls"); t != nil {
		tr := b.read(t)
		c.TLS = &engine.TLS{CA: b.onHost(tr, "ca"), Cert: b.onHost(tr, "cert"), Key: b.onHost(tr, "key")}
	}
	b.inv.Clusters = append(b.inv.Clusters, c)
}

// onHost reads a path on a host, which must be absolute.
func (b *builder) onHost(r reader, name string) string {
	p := r.text(name)
	if p != "" && !strings.HasPrefix(p, "/") {
		b.fail(r.n.args[name].Expr.Range(), name+" is not an absolute path", "it is a path on the member, such as /etc/etcd/ca.crt")
	}
	return p
}

// ssh reads how hosts are reached: what a block says, else what held before.
func (b *builder) ssh(s engine.SSH, n *node) engine.SSH {
	if n == nil {
		return s
	}
	r := b.read(n)
	s.User = cmp.Or(r.text("user"), s.User)
	s.Port = r.port("port", s.Port)
	s.Identities = orList(r.paths("identity"), s.Identities)
	s.KnownHosts = orList(r.paths("known_hosts"), s.KnownHosts)
	s.ProxyJump = cmp.Or(r.text("proxy_jump"), s.ProxyJump)
	s.Become = b.become(r, s.Become)
	s = b.password(r, s)
	if config := r.text("ssh_config"); config != "" && config != "none" {
		s.Config = r.path("ssh_config")
	} else {
		s.Config = cmp.Or(config, s.Config)
	}
	if d := r.span("connect_timeout"); d > 0 {
		s.ConnectTimeout = d
	}
	if d := r.span("keep_alive"); d > 0 {
		s.KeepAlive = d
	}
	return s
}

// password reads where the sudo password comes from. A file or a command
// takes the place of either that held before.
func (b *builder) password(r reader, s engine.SSH) engine.SSH {
	file, command := r.path("become_password_file"), r.text("become_password_command")
	switch {
	case file != "" && command != "":
		b.fail(r.n.args["become_password_command"].NameRange, "the sudo password comes from two places", "take out become_password_file or become_password_command")
	case file != "" || command != "":
		s.BecomeFile, s.BecomeCommand = file, command
	}
	return s
}

func (b *builder) become(r reader, before string) string {
	switch v := r.text("become"); v {
	case "":
		return before
	case "none":
		return ""
	case "sudo":
		return v
	default:
		b.fail(r.n.args["become"].Expr.Range(), fmt.Sprintf("no way to become root named %q", v), "there are \"sudo\" and \"none\"")
		return before
	}
}

func orList(a, fallback []string) []string {
	if len(a) == 0 {
		return fallback
	}
	return a
}
