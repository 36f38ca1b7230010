package playbook

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"holdfast/engine"
)

// wholeNumber is the accepted form of numbers: parsers of YAML disagree about
// 010, 0x10 and 1_000.
var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,8})$`)

// readScalar reports a value of another kind and returns false.
func (l *loader) readScalar(f field, n *yaml.Node) (any, bool) {
	switch f.kind {
	case templateKind:
		s, ok := l.readText(f.name, n)
		if !ok {
			return nil, false
		}
		return l.expandText(f.name, n, s)
	case boolKind:
		return l.readBool(f.name, n)
	case numberKind:
		return l.readNumber(f, n)
	case choiceKind:
		s, ok := l.readText(f.name, n)
		for _, c := range f.choices {
			if s == c {
				return s, true
			}
		}
		if ok {
			l.addProblem(n, fmt.Sprintf("%s cannot be %q", f.name, s), choiceAdvice(f, s))
		}
		return nil, false
	case durationKind:
		return l.readDuration(f.name, n)
	case countsKind:
		return l.readCounts(f.name, n)
	case tagsKind:
		return l.readTags(n)
	default:
		return nil, false // the caller reads values of other kinds
	}
}

func (l *loader) expandText(subject string, n *yaml.Node, s string) (string, bool) {
	x, ok := l.vars.expandReferences(n, s)
	if ok && strings.TrimSpace(x) == "" {
		l.addProblem(n, subject+" is empty after its variables are replaced", "set other values")
		return "", false
	}
	return x, ok
}

func choiceAdvice(f field, s string) string {
	if f.name == "state" && (s == "started" || s == "stopped") {
		return "the host's configuration decides whether a unit runs; a task can restart or reload it"
	}
	if f.name == "delegate_to" {
		return "a command runs on its host, or on the bastion with delegate_to: localhost"
	}
	return suggestWord(s, f.choices)
}

func (l *loader) checkUntagged(subject string, n *yaml.Node) bool {
	if n.Style&yaml.TaggedStyle == 0 {
		return true
	}
	l.addProblem(n, fmt.Sprintf("%s has the YAML tag %s", subject, n.Tag), "write the value without a tag")
	return false
}

func (l *loader) readText(subject string, n *yaml.Node) (string, bool) {
	if !l.checkUntagged(subject, n) {
		return "", false
	}
	switch {
	case n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0:
		l.addProblem(n, subject+" is not text", "text with braces needs quotes; variables are written ${var.NAME}")
	case n.Kind != yaml.ScalarNode:
		l.addProblem(n, subject+" is not text", "write one text")
	case n.Tag != "!!str" && n.Tag != "!!timestamp":
		l.addProblem(n, subject+" is not text", fmt.Sprintf("put it in quotes: %q", n.Value))
	case strings.TrimSpace(n.Value) == "":
		l.addProblem(n, subject+" is empty", "set a value, or remove the line")
	case strings.ContainsRune(n.Value, 0):
		l.addProblem(n, subject+" contains a NUL", "remove it")
	default:
		return n.Value, true
	}
	return "", false
}

// listElements takes a single value for a list, and refuses an empty list. Messages call an element one.
func (l *loader) listElements(subject, one string, n *yaml.Node) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		return []*yaml.Node{n}
	}
	var items []*yaml.Node
	for _, c := range n.Content {
		items = append(items, resolveAlias(c))
	}
	if len(items) == 0 {
		l.addProblem(n, subject+" is an empty list", "add "+one+", or remove the line")
	}
	return items
}

func (l *loader) readTexts(subject string, n *yaml.Node) []*yaml.Node {
	var texts []*yaml.Node
	for _, item := range l.listElements(subject, "an element", n) {
		if _, ok := l.readText(subject, item); ok {
			texts = append(texts, item)
		}
	}
	return texts
}

func (l *loader) readBool(subject string, n *yaml.Node) (bool, bool) {
	switch {
	case !l.checkUntagged(subject, n):
	case n.Kind == yaml.ScalarNode && n.Tag == "!!bool":
		return strings.EqualFold(n.Value, "true"), true
	default:
		l.addProblem(n, subject+" is neither true nor false", "write true or false, without quotes; yes, no, on and off are texts")
	}
	return false, false
}

func (l *loader) readNumber(f field, n *yaml.Node) (int, bool) {
	advice := fmt.Sprintf("write a whole number from %d to %d, without quotes", f.least, f.most)
	if f.name == "max_fail_percentage" && strings.HasSuffix(n.Value, "%") {
		advice = "write the percentage without quotes and without the sign: " + strings.TrimSuffix(n.Value, "%")
	}
	if !l.checkUntagged(f.name, n) {
		return 0, false
	}
	i, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || !wholeNumber.MatchString(n.Value) || err != nil || i < f.least || i > f.most {
		l.addProblem(n, fmt.Sprintf("%s is not a number from %d to %d", f.name, f.least, f.most), advice)
		return 0, false
	}
	return i, true
}

// maxSeconds limits a duration without a unit.
const maxSeconds = 86400

// durationPattern is the form of durations, also in the schema.
const durationPattern = `^([0-9]+(\.[0-9]+)?d([0-9]+(\.[0-9]+)?(ms|s|m|h))*|([0-9]+(\.[0-9]+)?(ms|s|m|h))+)$`

var durationRegexp = regexp.MustCompile(durationPattern)

func (l *loader) readDuration(subject string, n *yaml.Node) (engine.Duration, bool) {
	if !l.checkUntagged(subject, n) {
		return 0, false
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!int" && wholeNumber.MatchString(n.Value) { // seconds, as in Ansible
		if i, err := strconv.Atoi(n.Value); err == nil && i > 0 && i <= maxSeconds {
			return engine.Duration(time.Duration(i) * time.Second), true
		}
	}
	d, err := engine.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || err != nil || d <= 0 || !durationRegexp.MatchString(n.Value) {
		advice := `write a number and a unit: 90s, 10m, 1h30m, 4d`
		if n.Tag == "!!int" {
			advice = "it needs a unit: " + n.Value + "s"
		}
		l.addProblem(n, subject+" is not a duration", advice)
		return 0, false
	}
	return d, true
}

func (l *loader) readCounts(subject string, n *yaml.Node) ([]engine.CountOrPercent, bool) {
	if n.Kind != yaml.SequenceNode {
		one, ok := l.readCount(subject, n)
		return []engine.CountOrPercent{one}, ok
	}
	if len(n.Content) == 0 {
		l.addProblem(n, subject+" is an empty list", "add an element, or remove the line")
	}
	var list []engine.CountOrPercent
	for _, c := range n.Content {
		if one, ok := l.readCount(subject, resolveAlias(c)); ok {
			list = append(list, one)
		}
	}
	return list, len(list) > 0
}

func (l *loader) readCount(subject string, n *yaml.Node) (engine.CountOrPercent, bool) {
	if !l.checkUntagged(subject, n) {
		return engine.CountOrPercent{}, false
	}
	advice := `write a whole number from 1, without quotes, or a percentage such as "30%"`
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		limit, err := engine.ParseCountOrPercent(n.Value)
		if err == nil {
			return limit, true
		}
		advice = err.Error()
	} else if i, err := strconv.Atoi(n.Value); n.Kind == yaml.ScalarNode && n.Tag == "!!int" && err == nil && wholeNumber.MatchString(n.Value) && i >= 1 && i <= maxHosts {
		return engine.CountOrPercent{Count: i, Set: true}, true
	}
	l.addProblem(n, subject+" is not a number of hosts", advice)
	return engine.CountOrPercent{}, false
}

// maxHosts is the upper limit for numbers of hosts.
const maxHosts = 1 << 20
