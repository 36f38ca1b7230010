package inventory

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
)

// maxRange bounds the hosts of one range, against a slip of the keyboard.
const maxRange = 100_000

// maxDigits bounds the width of the numbers in a range.
const maxDigits = 9

var (
	numberRule  = regexp.MustCompile(`^[0-9]+$`)
	addressRule = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
)

// hosts reads a range of machines.
func (b *builder) hosts(n *node) {
	r := b.read(n)
	text := r.text("range")
	if text == "" {
		return
	}
	ids, err := expand(text)
	if err != nil {
		b.fail(n.args["range"].Expr.Range(), "range is not a range", err.Error())
		return
	}
	for _, id := range ids {
		before := len(b.diags)
		b.host(n, n.label+"-"+id, id)
		if len(b.diags) > before {
			return // the others of the range would say the same
		}
	}
}

// expand gives the numbers of a range such as "01-48" or "1-3,7". It counts
// before it makes any.
func expand(s string) ([]string, error) {
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
		case len(from) != len(to) && (zeros(from) || zeros(to)):
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

func zeros(number string) bool { return len(number) > 1 && number[0] == '0' }

// host reads one machine, on its own or of a range.
func (b *builder) host(n *node, name, id string) {
	r := reader{s: b.scope, n: n, id: id}
	h := engine.Host{Name: name, Address: b.where(r), Pool: r.text("pool"), Cluster: r.text("etcd_cluster"), Zone: r.text("zone"), Paused: r.truth("paused", false), IgnoreEtcd: r.truth("ignore_etcd", false)}
	if !hostRule.MatchString(name) || len(name) > 253 || name == "all" {
		b.fail(n.at, fmt.Sprintf("%q is no host name", name), "lower-case letters, digits, dot and dash, beginning and ending with a letter or digit; all means every host")
	}
	b.unique("host", name, n.at)
	before, known := b.poolSSH[h.Pool]
	if !known {
		before = b.siteSSH
	}
	h.SSH = b.ssh(before, n.one("ssh"))
	b.apart(n, h)
	h.Configs = b.configs(r)
	b.again(n, h)
	b.inv.Hosts = append(b.inv.Hosts, h)
	b.reference(n, "pool", h.Pool, "pool")
	b.reference(n, "etcd_cluster", h.Cluster, "etcd_cluster")
}

// where reads the address of a host: an IP address, a name, or an alias of
// ssh_config.
func (b *builder) where(r reader) string {
	s := r.text("address")
	if _, err := netip.ParseAddr(s); s == "" || err == nil || addressRule.MatchString(s) {
		return s
	}
	b.fail(r.n.args["address"].Expr.Range(), fmt.Sprintf("%q is no address", s), "a name or an IP address is needed, alone; user and port belong in an ssh block")
	return s
}

// apart checks that no other host is reached in the same way: by the address,
// through the same port and jump hosts.
func (b *builder) apart(n *node, h engine.Host) {
	if h.Address == "" {
		return
	}
	way := fmt.Sprintf("%s %d %s", strings.ToLower(h.Address), h.SSH.Port, h.SSH.ProxyJump)
	if other := b.address[way]; other != "" {
		b.fail(n.args["address"].Expr.Range(), fmt.Sprintf("%s has the address of %s", h.Name, other), "two hosts at one address would be one machine; give each its own, ${id} in a range")
		return
	}
	b.address[way] = h.Name
}

// reference checks that what an argument names exists.
func (b *builder) reference(n *node, arg, name, kind string) {
	if _, ok := b.seen[kind][name]; ok || name == "" {
		return
	}
	detail := fmt.Sprintf("add a block %s %q", kind, name)
	if near := engine.Nearest(name, slices.Sorted(maps.Keys(b.seen[kind]))); near != "" {
		detail = fmt.Sprintf("did you mean %q?", near)
	}
	b.fail(n.args[arg].Expr.Range(), fmt.Sprintf("no %s %q", kind, name), detail)
}
