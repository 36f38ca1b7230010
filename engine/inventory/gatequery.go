package inventory

import (
	"regexp"
	"slices"
	"strings"

	"holdfast/engine"
)

// standsFor are the words that gates fill in.
func standsFor() []string { return []string{"{host}", "{address}", "{pool}"} }

// word is what looks like a placeholder in a query, where braces are around
// label matchers, too, and numbers and names of letters in regular expressions.
var word = regexp.MustCompile(`(\\[pP])?\{[A-Za-z_]+\}`)

// unknownWord gives what looks like a placeholder in a query and is none.
func unknownWord(query string) string {
	for _, w := range word.FindAllString(query, -1) {
		if strings.HasPrefix(w, "{") && !slices.Contains(standsFor(), w) {
			return w
		}
	}
	return ""
}

var (
	// quoted are the parts of a query in which nothing is an operator: strings,
	// comments, and then label matchers.
	quoted   = regexp.MustCompile("\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])*'|`[^`]*`|#[^\n]*")
	matchers = regexp.MustCompile(`\{[^{}]*\}`)
	compares = regexp.MustCompile(`(?:==|!=|<=|>=|<|>)\s*(\w*)`)
	names    = regexp.MustCompile(`[A-Za-z_:][\w:]*`)
)

// alwaysGood says of a query why any series are a good answer to it, be they
// as they may; "" if that is not so, or cannot be told without the server, as
// of a recording rule, whose name has a colon.
func alwaysGood(query string) string {
	bare := matchers.ReplaceAllString(quoted.ReplaceAllString(query, " "), " ")
	for _, name := range names.FindAllString(bare, -1) {
		switch strings.ToLower(name) {
		case "absent", "absent_over_time", "and", "unless", "scalar":
			return ""
		}
		if strings.Contains(name, ":") {
			return ""
		}
	}
	found := compares.FindAllStringSubmatch(bare, -1)
	for _, c := range found {
		if strings.ToLower(c[1]) != "bool" {
			return ""
		}
	}
	if len(found) > 0 {
		return "a comparison with bool gives 0 where it does not hold, which is good, too; take bool out"
	}
	return "its query compares nothing, so that any value is good; compare it, such as with == 1, or ask for absent(…)"
}

// query checks what a gate asks Prometheus, as far as that goes without it.
func (b *builder) query(n *node, g engine.Gate, query string) {
	if query == "" {
		return // said already
	}
	if w := unknownWord(query); w != "" {
		b.fail(n.args["query"].Expr.Range(), "nothing stands for "+w, "there are "+listed(standsFor()))
		return
	}
	if why := alwaysGood(query); why != "" {
		b.warn("%s:%d:%d: gate %q: %s", n.at.Filename, n.at.Start.Line, n.at.Start.Column, g.Name, why)
	}
}
