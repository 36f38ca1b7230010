package engine

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// ParsePattern reads a host pattern as Ansible knows it: terms separated by
// commas or colons, of which plain ones are united, those with & intersected
// and those with ! taken out, in that order. A term is the name of a host or
// pool, a name with * and ?, a range worker-[01:10], a regular expression
// after ~, pool=NAME, zone=NAME, cluster=NAME, or all. A term or pattern that
// matches no host is an error: it is more likely a slip than a wish.
func ParsePattern(pattern string, inv Inventory) (func(Host) bool, error) {
	var with, within, without []func(Host) bool
	for _, text := range splitPattern(pattern) {
		list := &with
		switch {
		case strings.HasPrefix(text, "&"):
			list, text = &within, text[1:]
		case strings.HasPrefix(text, "!"):
			list, text = &without, text[1:]
		}
		term, err := parseTerm(text)
		if err != nil {
			return nil, err
		}
		if !matchesAny(term, inv) {
			return nil, fmt.Errorf("%q matches no host and no pool of the inventory", text)
		}
		*list = append(*list, term)
	}
	match := func(h Host) bool {
		return (len(with) == 0 || anyOf(with, h)) && allOf(within, h) && !anyOf(without, h)
	}
	if !matchesAny(match, inv) {
		return nil, fmt.Errorf("%q leaves no host", pattern)
	}
	return match, nil
}

func matchesAny(match func(Host) bool, inv Inventory) bool {
	for _, h := range inv.Hosts {
		if match(h) {
			return true
		}
	}
	return false
}

func anyOf(list []func(Host) bool, h Host) bool {
	for _, f := range list {
		if f(h) {
			return true
		}
	}
	return false
}

func allOf(list []func(Host) bool, h Host) bool {
	for _, f := range list {
		if !f(h) {
			return false
		}
	}
	return true
}

// splitPattern cuts at commas and colons outside of brackets. A regular
// expression may contain colons, so after ~ only commas cut.
func splitPattern(s string) []string {
	var terms []string
	depth, from := 0, 0
	add := func(to int) {
		if t := strings.TrimSpace(s[from:to]); t != "" {
			terms = append(terms, t)
		}
	}
	for i, c := range s {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case depth == 0 && (c == ',' || c == ':' && !strings.HasPrefix(strings.TrimLeft(s[from:], "&! "), "~")):
			add(i)
			from = i + 1
		}
	}
	add(len(s))
	return terms
}

func parseTerm(text string) (func(Host) bool, error) {
	if text == "all" || text == "*" {
		return func(Host) bool { return true }, nil
	}
	if expr, ok := strings.CutPrefix(text, "~"); ok {
		re, err := regexp.Compile("^(?:" + expr + ")")
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		return func(h Host) bool { return re.MatchString(h.Name) }, nil
	}
	if key, value, ok := strings.Cut(text, "="); ok {
		return parseAttribute(key, value)
	}
	if prefix, rest, ok := strings.Cut(text, "["); ok {
		if span, suffix, ok := strings.Cut(rest, "]"); ok && strings.ContainsAny(span, ":-") {
			return parseRange(text, prefix, span, suffix)
		}
	}
	if _, err := path.Match(text, ""); err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return func(h Host) bool {
		byName, _ := path.Match(text, h.Name)
		byPool, _ := path.Match(text, h.Pool)
		return byName || byPool
	}, nil
}

func parseAttribute(key, value string) (func(Host) bool, error) {
	attributes := map[string]func(Host) string{
		"pool": func(h Host) string { return h.Pool }, "zone": func(h Host) string { return h.Zone },
		"cluster": func(h Host) string { return h.Cluster }, "etcd_cluster": func(h Host) string { return h.Cluster },
	}
	get, ok := attributes[key]
	if !ok {
		return nil, fmt.Errorf("%q: hosts can be chosen by pool=, zone= and cluster=", key+"="+value)
	}
	return func(h Host) bool { ok, _ := path.Match(value, get(h)); return ok }, nil
}

// parseRange reads worker-[01:10] as Ansible writes it, or worker-[01-10] as
// holdfast prints it.
func parseRange(text, prefix, span, suffix string) (func(Host) bool, error) {
	from, to, ok := strings.Cut(strings.Replace(span, ":", "-", 1), "-")
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if !ok || err1 != nil || err2 != nil || last < first {
		return nil, fmt.Errorf("%q: a range is written worker-[01:10]", text)
	}
	return func(h Host) bool {
		middle, ok := strings.CutPrefix(h.Name, prefix)
		if !ok || !strings.HasSuffix(middle, suffix) {
			return false
		}
		middle = strings.TrimSuffix(middle, suffix)
		n, err := strconv.Atoi(middle)
		return err == nil && len(middle) >= len(from) && n >= first && n <= last
	}, nil
}
