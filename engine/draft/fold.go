package draft

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/textutil"
)

// block is a host block, or a hosts block if it has several hosts.
type block struct {
	host    Host // the first host
	ids     string
	name    nameParts
	address template
	first   int // position of the first host in its pool
}

// template is an address with the number of the host in it. The whole address
// is before without a number.
type template []string // the texts between the numbers

// nameParts are the texts around the number in the name of a host.
type nameParts struct{ before, after string }

// numberedName matches PREFIX-NUMBER, and numberedLabel the first part of a domain name with its last number.
var (
	numberedName  = regexp.MustCompile(`^(.+-)([0-9]{1,9})()$`)
	numberedLabel = regexp.MustCompile(`^([^.]*[^.0-9])([0-9]{1,9})([^.0-9]*(?:\..*)?)$`)
)

// splitName returns the number in a name, and the texts around it. It returns "" without a number.
func splitName(name string) (parts nameParts, id string) {
	for _, rule := range []*regexp.Regexp{numberedName, numberedLabel} {
		if m := rule.FindStringSubmatch(name); m != nil {
			return nameParts{m[1], m[3]}, m[2]
		}
	}
	return nameParts{}, ""
}

// label returns the label of a hosts block, and the argument name, which is "" if the names are LABEL-NUMBER.
func (p nameParts) label() (label, name string) {
	if before, dashed := strings.CutSuffix(p.before, "-"); dashed && p.after == "" {
		return before, ""
	}
	return strings.TrimRight(p.before, ".-"), p.before + "${id}" + p.after
}

// numbered is a host with a number in its name.
type numbered struct {
	host  Host
	name  nameParts
	id    string
	index int
}

// foldKey is equal for hosts that may share a hosts block.
type foldKey struct {
	name       nameParts
	others     string
	connection Connection
	found      string // the parts of Found that the block shows
}

// foldHosts folds hosts that differ only in their number. The address of each
// host of a block is exactly the template with its number.
func foldHosts(hosts []Host) []block {
	var series textutil.Groups[foldKey, numbered]
	var blocks []block
	for i, h := range hosts {
		name, id := splitName(h.Name)
		if id == "" {
			blocks = append(blocks, block{host: h, first: i})
			continue
		}
		series.Add(foldKey{name, strings.Join(h.Others, ", "), h.Connection, h.found.blockKey()}, numbered{h, name, id, i})
	}
	for _, members := range series.All() {
		blocks = append(blocks, foldSeries(members)...)
	}
	slices.SortFunc(blocks, func(a, b block) int { return a.first - b.first })
	return blocks
}

// foldSeries finds the templates that most hosts share, and makes a block of
// each.
func foldSeries(members []numbered) []block {
	fits := map[string][]numbered{}
	for _, m := range members {
		for _, t := range listTemplates(m.host.Address, m.id) {
			key := strings.Join(t, "\x00")
			fits[key] = append(fits[key], m)
		}
	}
	keys := make([]string, 0, len(fits))
	for key := range fits {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(x, y string) int { return cmp.Or(len(fits[y])-len(fits[x]), strings.Compare(x, y)) })
	var blocks []block
	taken := map[int]bool{}
	for _, key := range keys {
		list := slices.DeleteFunc(fits[key], func(m numbered) bool { return taken[m.index] })
		if len(list) < 2 {
			continue
		}
		for _, m := range list {
			taken[m.index] = true
		}
		blocks = append(blocks, block{host: list[0].host, ids: formatRange(list), name: list[0].name, address: strings.Split(key, "\x00"), first: list[0].index})
	}
	for _, m := range members {
		if !taken[m.index] {
			blocks = append(blocks, block{host: m.host, first: m.index})
		}
	}
	return blocks
}

// listTemplates returns the templates that become the address with the number:
// with the number at one place, and at all of them.
func listTemplates(address, id string) []template {
	var all []template
	for from := 0; from < len(address); {
		i := strings.Index(address[from:], id)
		if i < 0 {
			break
		}
		i += from
		all = append(all, template{address[:i], address[i+len(id):]})
		from = i + 1
	}
	if parts := strings.Split(address, id); len(parts) > 2 {
		all = append(all, parts)
	}
	return all
}

// formatRange returns the numbers as a range of an inventory, such as 01-48,50.
func formatRange(members []numbered) string {
	list := slices.Clone(members)
	value := func(m numbered) int { n, _ := strconv.Atoi(m.id); return n }
	slices.SortFunc(list, func(a, b numbered) int { return cmp.Or(value(a)-value(b), len(a.id)-len(b.id)) })
	var parts []string
	for i := 0; i < len(list); {
		first, j := list[i].id, i
		for j+1 < len(list) && list[j+1].id == fmt.Sprintf("%0*d", len(first), value(list[j])+1) && (first[0] != '0' || len(list[j+1].id) == len(first)) {
			j++
		}
		part := first
		if j > i {
			part += "-" + list[j].id
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}
