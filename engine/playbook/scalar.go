package playbook

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"holdfast/engine"
)

// wholeNumber is how numbers are written: 010, 0x10 and 1_000 mean different
// things to different readers of YAML.
var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,8})$`)

// readScalar reads a value of the kind that a field wants; false if it is another,
// which is noted.
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
	}
	return nil, false // of a kind that its owner reads
}

// expandText is a text with its variables, which must leave something.
func (l *loader) expandText(what string, n *yaml.Node, s string) (string, bool) {
	x, ok := l.vars.expandReferences(n, s)
	if ok && strings.TrimSpace(x) == "" {
		l.addProblem(n, what+" is empty, with the variables as they are", "give them other values")
		return "", false
	}
	return x, ok
}

func choiceAdvice(f field, s string) string {
	if f.name == "state" && (s == "started" || s == "stopped") {
		return "whether a unit runs is up to the host's configuration; a task can have it restarted or reloaded"
	}
	if f.name == "delegate_to" {
		return "a command runs on its host, or on the bastion with delegate_to: localhost"
	}
	return suggestWord(s, f.choices)
}

// checkUntagged reports whether the value is one without a tag of its own (!vault).
func (l *loader) checkUntagged(what string, n *yaml.Node) bool {
	if n.Style&yaml.TaggedStyle == 0 {
		return true
	}
	l.addProblem(n, fmt.Sprintf("%s has the YAML tag %s", what, n.Tag), "write the value as it is, without a tag")
	return false
}

// readText reads a text that is not blank.
func (l *loader) readText(what string, n *yaml.Node) (string, bool) {
	if !l.checkUntagged(what, n) {
		return "", false
	}
	switch {
	case n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0:
		l.addProblem(n, what+" is not text", "text with braces needs quotes; variables are written ${var.NAME}")
	case n.Kind != yaml.ScalarNode:
		l.addProblem(n, what+" is not text", "one text is needed here")
	case n.Tag != "!!str" && n.Tag != "!!timestamp":
		l.addProblem(n, what+" is not text", fmt.Sprintf("put it in quotes: %q", n.Value))
	case strings.TrimSpace(n.Value) == "":
		l.addProblem(n, what+" is empty", "give it a value, or take the line out")
	case strings.ContainsRune(n.Value, 0):
		l.addProblem(n, what+" contains a NUL", "take it out")
	default:
		return n.Value, true
	}
	return "", false
}

// listElements gives those of a list, or what stands in its place; an empty list
// wants one.
func (l *loader) listElements(what, one string, n *yaml.Node) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		return []*yaml.Node{n}
	}
	var items []*yaml.Node
	for _, c := range n.Content {
		items = append(items, resolveAlias(c))
	}
	if len(items) == 0 {
		l.addProblem(n, what+" is an empty list", "give it "+one+", or take the line out")
	}
	return items
}

// readTexts gives the texts of a text or a list of texts.
func (l *loader) readTexts(what string, n *yaml.Node) []*yaml.Node {
	var texts []*yaml.Node
	for _, item := range l.listElements(what, "an element", n) {
		if _, ok := l.readText(what, item); ok {
			texts = append(texts, item)
		}
	}
	return texts
}

func (l *loader) readBool(what string, n *yaml.Node) (bool, bool) {
	switch {
	case !l.checkUntagged(what, n):
	case n.Kind == yaml.ScalarNode && n.Tag == "!!bool":
		return strings.EqualFold(n.Value, "true"), true
	default:
		l.addProblem(n, what+" is neither true nor false", "write true or false, without quotes; yes, no, on and off are texts")
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

// durationPattern are what the schema takes, too.
const durationPattern = `^([0-9]+(\.[0-9]+)?d([0-9]+(\.[0-9]+)?(ms|s|m|h))*|([0-9]+(\.[0-9]+)?(ms|s|m|h))+)$`

var durationRegexp = regexp.MustCompile(durationPattern)

func (l *loader) readDuration(what string, n *yaml.Node) (engine.Duration, bool) {
	if !l.checkUntagged(what, n) {
		return 0, false
	}
	d, err := engine.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || err != nil || d <= 0 || !durationRegexp.MatchString(n.Value) {
		advice := `write a number and a unit: 90s, 10m, 1h30m, 4d`
		if n.Tag == "!!int" {
			advice = "it needs a unit: " + n.Value + "s"
		}
		l.addProblem(n, what+" is not a duration", advice)
		return 0, false
	}
	return d, true
}

// readCounts reads how many hosts, or a list of such.
func (l *loader) readCounts(what string, n *yaml.Node) ([]engine.CountOrPercent, bool) {
	if n.Kind != yaml.SequenceNode {
		one, ok := l.readCount(what, n)
		return []engine.CountOrPercent{one}, ok
	}
	if len(n.Content) == 0 {
		l.addProblem(n, what+" is an empty list", "give it an element, or take the line out")
	}
	var list []engine.CountOrPercent
	for _, c := range n.Content {
		if one, ok := l.readCount(what, resolveAlias(c)); ok {
			list = append(list, one)
		}
	}
	return list, len(list) > 0
}

func (l *loader) readCount(what string, n *yaml.Node) (engine.CountOrPercent, bool) {
	if !l.checkUntagged(what, n) {
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
	l.addProblem(n, what+" is not a number of hosts", advice)
	return engine.CountOrPercent{}, false
}

// maxHosts is more than any site has.
const maxHosts = 1 << 20
