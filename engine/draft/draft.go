// Package draft writes the first inventory of a site, from the hosts that
// another tool knows: Ansible or ssh. It never guesses: a part that has no
// exact equivalent is named in a remark and left out.
package draft

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/inventory"
	"holdfast/engine/textutil"
)

// Host is a host that another tool knows.
type Host struct {
	Name       string // the name there
	Address    string // name or IP address, as for ssh
	Group      string // becomes its pool
	Others     []string
	Connection Connection
	At         string // position of the host in the file of the tool, for remarks

	listedName      string // Name before it was made valid
	found           Found  // of Site.Found
	portUnknown     bool   // the port of Connection is not the one of the tool
	wayUnknown      bool   // Connection lacks a port, or a way over other hosts, that the tool has
	hasProxyCommand bool   // ssh ignores jump hosts of later variables
}

// Connection has the settings of SSH that differ from the defaults.
type Connection struct {
	User, Port, Identity, ProxyJump, Become string
}

// fields lists the settings of a connection by their names in an inventory, in
// the order of the docs.
var fields = []struct {
	name string
	of   func(c *Connection) *string
}{
	{"user", func(c *Connection) *string { return &c.User }},
	{"port", func(c *Connection) *string { return &c.Port }},
	{"identity", func(c *Connection) *string { return &c.Identity }},
	{"proxy_jump", func(c *Connection) *string { return &c.ProxyJump }},
	{"become", func(c *Connection) *string { return &c.Become }},
}

// Site has the hosts of a site and their origin.
type Site struct {
	Name      string
	Source    string // file of the other tool, "" without one
	SSHConfig string // for the whole site; "" for the default
	Hosts     []Host
	Groups    []Group  // of the other tool
	Remarks   []string // parts that are left out

	Found    map[string]Found // by the names that hosts have in an inventory; nil: they were not asked
	Clusters []FoundCluster   // of etcd
}

// Draft is a new inventory.
type Draft struct {
	Text    string // HCL
	Hosts   int
	Names   []string // of the hosts, in the order of Site.Hosts
	Silent  int      // hosts that did not answer, which are comments
	Pools   []string
	Remarks []string // parts that are left out, and changed names
}

// pool is a pool with its hosts, and the settings that all of them share.
type pool struct {
	name, group string
	connection  Connection
	hosts       []Host

	os        OS     // that its hosts run
	osProblem string // why the OS is not known; "" if it is known, or the hosts were not asked
}

// Errors has all reasons why no inventory can be written.
type Errors []string

// Error formats each reason on a line of its own.
func (e Errors) Error() string { return strings.Join(e, "\n") }

// Make writes the inventory of a site. If no host of another tool can be taken over, it returns only the
// remarks, and an error.
func Make(s Site) (Draft, error) {
	m := maker{remarks: slices.Clone(s.Remarks)}
	hosts := m.nameHosts(s.Hosts)
	hosts = m.dropRepeated(hosts)
	if s.Source != "" && len(hosts) == 0 && len(m.errs) == 0 {
		return Draft{Remarks: m.remarks}, fmt.Errorf("%s has no host that can be taken over", s.Source)
	}
	for i := range hosts {
		hosts[i].found = s.Found[hosts[i].Name]
	}
	hosts = m.dropSameMachines(hosts)
	setBecome(hosts)
	pools := m.groupHosts(hosts)
	if len(m.errs) > 0 {
		return Draft{}, m.errs
	}
	m.remarkGroups(pools)
	if s.Found != nil {
		pools = splitByOS(pools)
		m.remarkFound(pools, s.Clusters)
	}
	m.remarkParents(s.Groups, pools)
	shared := shareConnections(pools)
	d := Draft{Text: formatInventory(s, shared, pools), Hosts: countAnswers(hosts), Remarks: m.remarks}
	d.Silent = len(hosts) - d.Hosts
	for _, h := range hosts {
		d.Names = append(d.Names, h.Name)
	}
	for _, p := range pools {
		d.Pools = append(d.Pools, p.name)
	}
	return d, nil
}

type maker struct {
	remarks []string
	errs    Errors
}

func (m *maker) addRemark(at, format string, args ...any) {
	m.remarks = append(m.remarks, at+": "+textutil.Printable(fmt.Sprintf(format, args...)))
}

func (m *maker) addError(at, format string, args ...any) {
	m.errs = append(m.errs, at+": "+textutil.Printable(fmt.Sprintf(format, args...)))
}

// nameHosts replaces the names of hosts by valid ones. It leaves hosts out
// whose address no inventory can have.
func (m *maker) nameHosts(hosts []Host) []Host {
	var out []Host
	taken := map[string]Host{}
	for _, h := range hosts {
		before := h
		if !inventory.IsAddress(h.Address) {
			m.addRemark(h.At, "host %s is left out: %q is not a name or an IP address", h.Name, h.Address)
			continue
		}
		h.Name, h.listedName = validHostName(h.Name), h.Name
		switch other, known := taken[h.Name]; {
		case !inventory.IsHostName(h.Name):
			m.addError(h.At, "host %q: no name of holdfast can be made of it; rename it to lower-case letters, digits, dot and dash", before.Name)
		case known:
			m.addError(h.At, "host %q would get the name %s, as %q of %s; rename one", before.Name, h.Name, other.Name, other.At)
		default:
			taken[h.Name] = before
			out = append(out, h)
			if h.Name != before.Name {
				m.addRemark(h.At, "host %s is named %s: names have lower-case letters, digits, dot and dash", before.Name, h.Name)
			}
		}
	}
	return out
}

func validHostName(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name), ".-")
}

// setBecome lets hosts become root with sudo, unless all users are root: holdfast needs root, and sudo changes nothing for root.
func setBecome(hosts []Host) {
	if !slices.ContainsFunc(hosts, func(h Host) bool { return h.Connection.User != "root" }) {
		return
	}
	for i := range hosts {
		hosts[i].Connection.Become = "sudo"
	}
}

// groupHosts makes a pool of each group, in the order of the hosts.
func (m *maker) groupHosts(hosts []Host) []*pool {
	var pools []*pool
	byGroup, byName := map[string]*pool{}, map[string]*pool{}
	for _, h := range hosts {
		p := byGroup[h.Group]
		if p == nil {
			p = &pool{name: validPoolName(h.Group), group: h.Group}
			byGroup[h.Group] = p
			switch other := byName[p.name]; {
			case !inventory.IsName(p.name):
				m.addError(h.At, "group %q: no name of a pool can be made of it; rename it to letters, digits, dot, dash and underscore", h.Group)
			case other != nil:
				m.addError(h.At, "group %q would become pool %s, as group %q; rename one", h.Group, p.name, other.group)
			case p.name != h.Group:
				m.addRemark(h.At, "group %s becomes pool %s: names have letters, digits, dot, dash and underscore", h.Group, p.name)
			}
			byName[p.name] = p
			pools = append(pools, p)
		}
		p.hosts = append(p.hosts, h)
	}
	return pools
}

func validPoolName(group string) string {
	return strings.TrimLeft(strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, group), ".-_")
}

// remarkGroups names the other groups of hosts.
func (m *maker) remarkGroups(pools []*pool) {
	for _, p := range pools {
		var sets textutil.Groups[string, Host]
		for _, h := range p.hosts {
			if len(h.Others) > 0 {
				sets.Add(strings.Join(h.Others, ", "), h)
			}
		}
		for others, hosts := range sets.All() {
			names := make([]string, len(hosts))
			for i, h := range hosts {
				names[i] = h.Name
			}
			m.addRemark(hosts[0].At, "%s: pool %s; not in %s, because a host has one pool: the first group in the file that lists it", foldFew(names, " "), p.name, others)
		}
	}
}

// foldFew folds names to ranges, and shows the first five.
func foldFew(names []string, separator string) string {
	folded := textutil.FoldNames(names)
	return strings.Join(textutil.AndMore(folded[:min(len(folded), 5)], len(folded)), separator)
}

// shareConnections moves settings that all hosts have to the site, and settings
// that all hosts of a pool have to the pool.
func shareConnections(pools []*pool) Connection {
	var site Connection
	for _, f := range fields {
		if v, same := sharedValue(pools, f.of); same {
			*f.of(&site) = v
			clearValue(pools, f.of)
			continue
		}
		for _, p := range pools {
			if v, same := sharedValue([]*pool{p}, f.of); same {
				*f.of(&p.connection) = v
				clearValue([]*pool{p}, f.of)
			}
		}
	}
	return site
}

func sharedValue(pools []*pool, of func(*Connection) *string) (string, bool) {
	value, first := "", true
	for _, p := range pools {
		for i := range p.hosts {
			v := *of(&p.hosts[i].Connection)
			if v == "" || !first && v != value {
				return "", false
			}
			value, first = v, false
		}
	}
	return value, !first
}

func clearValue(pools []*pool, of func(*Connection) *string) {
	for _, p := range pools {
		for i := range p.hosts {
			*of(&p.hosts[i].Connection) = ""
		}
	}
}
