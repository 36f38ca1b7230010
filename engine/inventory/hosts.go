package inventory

import (
	"fmt"
	"strconv"
	"strings"

	"holdfast/engine"
)

// maxRange bounds the hosts of one range, against a slip of the keyboard.
const maxRange = 100_000

// hosts reads a range of machines.
func (b *builder) hosts(n *node, site *node) {
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
		b.host(n, site, n.label+"-"+id, id)
		if len(b.diags) > before {
			return // the others of the range would say the same
		}
	}
}

// expand gives the numbers of a range such as "01-48" or "1-3,7".
func expand(s string) ([]string, error) {
	var ids []string
	for _, part := range strings.Split(s, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		switch {
		case err1 != nil || err2 != nil || first < 0 || strings.HasPrefix(from, "+"):
			return nil, fmt.Errorf("%q: write numbers and ranges, such as \"01-48\" or \"1-3,7\"", s)
		case len(from) != len(to) && (zeros(from) || zeros(to)):
			return nil, fmt.Errorf("%q: with zeros in front, both ends need as many digits", part)
		case last < first:
			return nil, fmt.Errorf("%q goes backwards", part)
		case last-first >= maxRange || len(ids) >= maxRange:
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
func (b *builder) host(n, site *node, name, id string) {
	r := reader{s: b.scope, n: n, id: id}
	h := engine.Host{Name: name, Address: r.text("address"), Pool: r.text("pool"), Cluster: r.text("etcd_cluster"), Zone: r.text("zone")}
	if !hostRule.MatchString(name) || len(name) > 253 {
		b.fail(n.at, fmt.Sprintf("%q is no name for a host", name), "lower-case letters, digits, dot and dash, beginning and ending with a letter or digit")
	}
	b.unique("host", name, n.at)
	if other := b.address[h.Address]; h.Address != "" && other != "" {
		b.fail(n.args["address"].Expr.Range(), fmt.Sprintf("%s has the address of %s", name, other), "two hosts at one address would be one machine")
	}
	b.address[h.Address] = name
	h.SSH = b.ssh(site.one("ssh"), b.poolSSH[h.Pool], n.one("ssh"))
	b.inv.Hosts = append(b.inv.Hosts, h)
	b.reference(n, "pool", h.Pool, "pool")
	b.reference(n, "etcd_cluster", h.Cluster, "etcd_cluster")
}

// reference checks that what an argument names exists.
func (b *builder) reference(n *node, arg, name, kind string) {
	if name == "" {
		return
	}
	if _, ok := b.seen[kind+" "+name]; ok {
		return
	}
	var names []string
	for key := range b.seen {
		if known, ok := strings.CutPrefix(key, kind+" "); ok {
			names = append(names, known)
		}
	}
	detail := fmt.Sprintf("add a block %s %q", kind, name)
	if near := nearest(name, names); near != "" {
		detail = fmt.Sprintf("did you mean %q?", near)
	}
	b.fail(n.args[arg].Expr.Range(), fmt.Sprintf("no %s %q", kind, name), detail)
}
