// Package hostpattern reads the patterns by which operators select hosts.
package hostpattern

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// Parse reads a host pattern with the syntax of Ansible: terms separated by
// commas or colons. A host matches if a plain term matches it (or the pattern
// has no plain term), every term with & matches it, and no term with ! matches
// it. The order of the terms has no effect. A term is the name of a host or
// pool, a name with * and ?, a range worker-[01:10], a regular expression after
// ~, pool=NAME, zone=NAME, cluster=NAME, or all. A term or pattern that matches
// no host is an error, because it is probably a typing error. The output of
// textutil.FoldNames is a pattern that matches its names.
func Parse(pattern string, inv engine.Inventory) (func(engine.Host) bool, error) {
	terms := splitPattern(pattern)
	if len(terms) == 0 {
		return nil, fmt.Errorf("%q names no host; all names every one", pattern)
	}
	var with, within, without []func(engine.Host) bool
	for _, text := range terms {
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
			return nil, &NoMatchError{Term: text, Near: textutil.Nearest(text, hostAndPoolNames(inv))}
		}
		*list = append(*list, term)
	}
	match := func(h engine.Host) bool {
		return (len(with) == 0 || anyOf(with, h)) && allOf(within, h) && !anyOf(without, h)
	}
	if !matchesAny(match, inv) {
		return nil, fmt.Errorf("%q leaves no host", pattern)
	}
	return match, nil
}

// NoMatchError reports a term of a pattern that matches no host.
type NoMatchError struct {
	Term string
	Near string // a similar name of a host or pool, or ""
}

// Error also suggests the similar name, if there is one.
func (e *NoMatchError) Error() string {
	text := fmt.Sprintf("%q matches no host and no pool of the inventory", e.Term)
	if e.Near != "" {
		text += fmt.Sprintf("; did you mean %q?", e.Near)
	}
	return text
}

func hostAndPoolNames(inv engine.Inventory) []string {
	names := []string{"all"}
	for _, h := range inv.Hosts {
		names = append(names, h.Name)
		if !slices.Contains(names, h.Pool) {
			names = append(names, h.Pool)
		}
	}
	return names
}

func matchesAny(match func(engine.Host) bool, inv engine.Inventory) bool {
	for _, h := range inv.Hosts {
		if match(h) {
			return true
		}
	}
	return false
}

func anyOf(list []func(engine.Host) bool, h engine.Host) bool {
	for _, f := range list {
		if f(h) {
			return true
		}
	}
	return false
}

func allOf(list []func(engine.Host) bool, h engine.Host) bool {
	for _, f := range list {
		if !f(h) {
			return false
		}
	}
	return true
}

// splitPattern splits at commas and colons outside of brackets. A regular
// expression may contain colons, so after ~ it splits only at commas.
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

func parseTerm(text string) (func(engine.Host) bool, error) {
	if text == "all" || text == "*" {
		return func(engine.Host) bool { return true }, nil
	}
	if text == "" || text == "~" {
		return nil, fmt.Errorf("%q: there is nothing after it; all names every host", text)
	}
	if expr, ok := strings.CutPrefix(text, "~"); ok {
		re, err := regexp.Compile("^(?:" + expr + ")")
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		return func(h engine.Host) bool { return re.MatchString(h.Name) }, nil
	}
	if key, value, ok := strings.Cut(text, "="); ok {
		return parseAttribute(key, value)
	}
	if prefix, rest, ok := strings.Cut(text, "["); ok {
		if spans, suffix, ok := strings.Cut(rest, "]"); ok && isRange(spans) {
			return parseRange(text, prefix, spans, suffix)
		}
	}
	if _, err := path.Match(text, ""); err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return func(h engine.Host) bool {
		byName, _ := path.Match(text, h.Name)
		byPool, _ := path.Match(text, h.Pool)
		return byName || byPool
	}, nil
}

func parseAttribute(key, value string) (func(engine.Host) bool, error) {
	attributes := map[string]func(engine.Host) string{
		"pool": func(h engine.Host) string { return h.Pool }, "zone": func(h engine.Host) string { return h.Zone },
		"cluster": func(h engine.Host) string { return h.Cluster }, "etcd_cluster": func(h engine.Host) string { return h.Cluster },
	}
	get, ok := attributes[key]
	if !ok {
		return nil, fmt.Errorf("%q: hosts can be chosen by pool=, zone= and cluster=", key+"="+value)
	}
	return func(h engine.Host) bool { ok, _ := path.Match(value, get(h)); return ok }, nil
}

// isRange reports whether brackets contain a range of numbers, and not a class
// of letters such as [a-c].
func isRange(spans string) bool {
	return strings.ContainsAny(spans, ":-,") && strings.Trim(spans, "0123456789:-, ") == ""
}

// parseRange reads worker-[01:10] as Ansible writes it, or worker-[01-03,07] as holdfast
// prints it.
func parseRange(text, prefix, spans, suffix string) (func(engine.Host) bool, error) {
	var list []span
	for _, part := range strings.Split(spans, ",") {
		s, ok := parseSpan(strings.TrimSpace(part))
		if !ok {
			return nil, fmt.Errorf("%q: a range is written worker-[01:10], or worker-[01-03,07]", text)
		}
		list = append(list, s)
	}
	return func(h engine.Host) bool {
		middle, ok := strings.CutPrefix(h.Name, prefix)
		if !ok || !strings.HasSuffix(middle, suffix) {
			return false
		}
		middle = strings.TrimSuffix(middle, suffix)
		for _, s := range list {
			if s.has(middle) {
				return true
			}
		}
		return false
	}, nil
}

// span holds the numbers from first to last, written with at least width
// digits.
type span struct{ first, last, width int }

func parseSpan(s string) (span, bool) {
	from, to, isRange := strings.Cut(strings.Replace(s, ":", "-", 1), "-")
	if !isRange {
		to = from
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	return span{first, last, len(from)}, err1 == nil && err2 == nil && first <= last
}

// has reports whether a number is in the span and is written with its width: 7,
// 07 and 007 belong to different hosts.
func (s span) has(digits string) bool {
	n, err := strconv.Atoi(digits)
	return err == nil && n >= s.first && n <= s.last && digits == fmt.Sprintf("%0*d", s.width, n)
}
