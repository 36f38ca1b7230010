package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// maxRange bounds the hosts of one range: a larger number is likely a typing error.
const maxRange = 100_000

// maxDigits bounds the width of the numbers in a range.
const maxDigits = 9

var (
	numberRule  = regexp.MustCompile(`^[0-9]+$`)
	addressRule = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
)

func (b *builder) readHostRange(n *node) {
	r := b.newReader(n)
	text := r.readText("range")
	if text == "" {
		return
	}
	ids, err := expandRange(text)
	if err != nil {
		b.addError(n.args["range"].Expr.Range(), "range is not valid", err.Error())
		return
	}
	names, before := rangeNames{scope: b.scope, node: n}, len(b.diags)
	first := names.nameOf(ids[0])
	if len(b.diags) > before {
		return
	}
	if len(ids) > 1 && first == names.nameOf(ids[1]) {
		b.addError(n.args["name"].Expr.Range(), "name is the same for all hosts of the range", `write ${id} into it, such as name = "www${id}.example.com"`)
		return
	}
	for _, id := range ids {
		before := len(b.diags)
		b.readHost(n, names.nameOf(id), id)
		if len(b.diags) > before {
			return // the other hosts of the range would have the same errors
		}
	}
}

// rangeNames names the hosts of a range.
type rangeNames struct {
	scope *scope
	node  *node
}

// nameOf returns the name of the host with this number: its argument name, or else LABEL-NUMBER.
func (r rangeNames) nameOf(id string) string {
	if _, set := r.node.args["name"]; !set {
		return r.node.label + "-" + id
	}
	return reader{scope: r.scope, node: r.node, id: id}.readText("name")
}

// expandRange returns the numbers of a range such as "01-48" or "1-3,7". It checks the number of hosts before it makes
// the list.
func expandRange(s string) ([]string, error) {
	var ids []string
	for _, part := range strings.Split(s, ",") {
		part = strings.TrimSpace(part)
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		if !numberRule.MatchString(from) || !numberRule.MatchString(to) {
			return nil, fmt.Errorf("%q: write whole numbers and ranges, such as \"01-48\" or \"1-3,7\"", s)
		}
		if len(from) > maxDigits || len(to) > maxDigits {
			return nil, fmt.Errorf("%q: a number has at most %d digits", s, maxDigits)
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		switch {
		case err1 != nil || err2 != nil:
			return nil, fmt.Errorf("%q: %w", part, errors.Join(err1, err2))
		case len(from) != len(to) && (hasLeadingZero(from) || hasLeadingZero(to)):
			return nil, fmt.Errorf("%q: with zeros in front, both ends need as many digits", part)
		case last < first:
			return nil, fmt.Errorf("%q goes backwards; write the smaller number first", part)
		case len(ids)+last-first+1 > maxRange:
			return nil, fmt.Errorf("%q has more than %d hosts", s, maxRange)
		}
		for i := first; i <= last; i++ {
			ids = append(ids, fmt.Sprintf("%0*d", len(from), i))
		}
	}
	return ids, nil
}

func hasLeadingZero(number string) bool { return len(number) > 1 && number[0] == '0' }

func (b *builder) readHost(n *node, name, id string) {
	r := reader{scope: b.scope, node: n, id: id}
	h := engine.Host{Name: name, Address: b.readAddress(r), Pool: r.readText("pool"), Cluster: r.readText("etcd_cluster"), Retired: r.readBool("etcd_retired", false), NearCluster: r.readText("near_etcd_cluster"), Zone: r.readText("zone"), Paused: r.readBool("paused", false), Maintenance: r.readText("maintenance"), Leaving: r.readBool("leaving", false), IgnoreEtcd: r.readBool("ignore_etcd", false)}
	if !IsHostName(name) {
		b.addError(n.at, fmt.Sprintf("%q is not a valid host name", name), "use lower-case letters, digits, dot and dash, beginning and ending with a letter or digit; all is reserved")
	}
	b.claimName("host", name, n.at)
	before, known := b.poolSSH[h.Pool]
	if !known {
		before = b.siteSSH
	}
	h.SSH = b.readSSH(before, n.childBlock("ssh"))
	h.Kubernetes = kubernetesReader{b}.clusterOf(r, h.Pool)
	b.checkDuplicateAddress(n, h)
	h.Configs = b.readConfigs(r)
	b.checkRepeatedConfigs(n, h)
	powerReader{b}.setPower(n, &h, id)
	b.inv.Hosts = append(b.inv.Hosts, h)
	if h.Retired {
		b.retired = append(b.retired, retiredHost{n, h.Cluster})
	}
	b.checkFlags(r, h)
	b.checkReference(n, "pool", h.Pool, "pool")
	b.checkReference(n, "etcd_cluster", h.Cluster, "etcd_cluster")
	b.checkReference(n, "near_etcd_cluster", h.NearCluster, "etcd_cluster")
	if h.Cluster != "" && h.NearCluster != "" {
		b.addError(n.args["near_etcd_cluster"].Expr.Range(), h.Name+" is a member of an etcd cluster", "remove near_etcd_cluster: a member is staged within the limits of its own cluster")
	}
}

// maxReason is the largest size, in bytes, of the reason for a maintenance.
const maxReason = 2000

func (b *builder) checkFlags(r reader, h engine.Host) {
	n := r.node
	if len(h.Maintenance) > maxReason {
		b.addError(n.args["maintenance"].Expr.Range(), fmt.Sprintf("maintenance has more than %d bytes", maxReason), "shorten the reason")
	}
	if h.Maintenance == "true" || h.Maintenance == "false" {
		b.addError(n.args["maintenance"].Expr.Range(), "maintenance needs a reason", `write the reason, such as maintenance = "DIMM swap", or leave it out`)
	}
	if h.Leaving && h.Cluster != "" && !h.Retired && !r.isWrong("etcd_retired") {
		b.addError(n.args["leaving"].Expr.Range(), h.Name+" is leaving, and a member of etcd cluster "+strconv.Quote(h.Cluster), "remove its member first: set etcd_retired = true, run holdfast etcd members apply, and then set leaving")
	}
}

// IsHostName reports whether a host of an inventory may have a name.
func IsHostName(name string) bool {
	return hostRule.MatchString(name) && len(name) <= maxName && name != "all"
}

// IsAddress reports whether a text is the name or the IP address of a machine.
func IsAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil || addressRule.MatchString(s) && !looksLikeIPv4(s)
}

func (b *builder) readAddress(r reader) string {
	s := r.readText("address")
	if numberRule.MatchString(s) { // in quotes, ssh_config may know it
		a := r.node.args["address"]
		if v, _ := a.Expr.Value(r.scope.evalContext(a.SrcRange, r.id)); v.Type() == cty.Number {
			b.addError(a.Expr.Range(), "address is a number", "write a name or an IP address, in quotes")
			return ""
		}
	}
	if s == "" || IsAddress(s) {
		return s
	}
	advice := "write only a name or an IP address; user and port belong in an ssh block"
	if addressRule.MatchString(s) {
		advice = "each of the four parts of an IPv4 address is from 0 to 255, without a leading zero"
	}
	b.addError(r.node.args["address"].Expr.Range(), fmt.Sprintf("%q is not a valid address", s), advice)
	return s
}

// Way is how ssh reaches a machine. Two hosts with the same Way are one machine.
type Way struct {
	address   string // without the different spellings of one address
	port      int
	proxyJump string
}

// NewWay returns the way to an address, with port 0 for the default.
func NewWay(address string, port int, proxyJump string) Way {
	return Way{textutil.NormalizeAddress(address), cmp.Or(port, 22), proxyJump}
}

func (b *builder) checkDuplicateAddress(n *node, h engine.Host) {
	if h.Address == "" || b.wayUnknown {
		return
	}
	way := NewWay(h.Address, h.SSH.Port, h.SSH.ProxyJump)
	if other := b.hostByAddress[way]; other != "" {
		b.addError(n.args["address"].Expr.Range(), fmt.Sprintf("%s has the address of %s", h.Name, other), "two hosts at one address would be one machine; give each its own, ${id} in a range")
		return
	}
	b.hostByAddress[way] = h.Name
}

func (b *builder) checkReference(n *node, arg, name, kind string) {
	if _, ok := b.declared[kind][name]; ok || name == "" {
		return
	}
	detail := fmt.Sprintf("add a block %s %q", kind, name)
	if near := textutil.Nearest(name, slices.Sorted(maps.Keys(b.declared[kind]))); near != "" {
		detail = fmt.Sprintf("did you mean %q?", near)
	}
	b.addError(n.args[arg].Expr.Range(), fmt.Sprintf("no %s %q", kind, name), detail)
}

// looksLikeIPv4 reports whether the last part of a name has only digits. No domain has such a name, so the name is an
// IPv4 address with a mistake, such as 10.0.0.300 or 10.0.0.010.
func looksLikeIPv4(s string) bool {
	last := s[strings.LastIndexByte(s, '.')+1:]
	return strings.Contains(s, ".") && last != "" && strings.Trim(last, "0123456789") == ""
}
