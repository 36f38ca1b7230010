package inventory

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"holdfast/engine"
)

// gatePlaceholders are the words that gates fill in.
func gatePlaceholders() []string { return []string{"{host}", "{address}", "{pool}"} }

// placeholderLike is what looks like a placeholder in a query, where braces are around
// label matchers, too, and numbers and names of letters in regular expressions.
var placeholderLike = regexp.MustCompile(`(\\[pP])?\{[A-Za-z_]+\}`)

// findUnknownPlaceholder gives what looks like a placeholder in a query and is none.
func findUnknownPlaceholder(query string) string {
	for _, w := range placeholderLike.FindAllString(query, -1) {
		if strings.HasPrefix(w, "{") && !slices.Contains(gatePlaceholders(), w) {
			return w
		}
	}
	return ""
}

var (
	// quotedParts are the parts of a query in which nothing is an operator: strings
	// and comments. In what is left, label matchers are such, too.
	quotedParts   = regexp.MustCompile("\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])*'|`[^`]*`|#[^\n]*")
	labelMatchers = regexp.MustCompile(`\{[^{}]*\}`)
	comparisons   = regexp.MustCompile(`(?:==|!=|<=|>=|<|>)\s*(\w*)`)
	identifiers   = regexp.MustCompile(`[A-Za-z_:][\w:]*`)
)

// stripStringsAndComments is a query without its strings and comments.
func stripStringsAndComments(query string) string {
	return quotedParts.ReplaceAllStringFunc(query, func(part string) string {
		if part[0] == '#' {
			return " "
		}
		return ` "" `
	})
}

// findQueryError says why a query, bare, can never be answered well; "" if it can be,
// as far as that is seen without parsing it. A run would find out only at its
// gate, with hosts disrupted.
func findQueryError(bare string) string {
	text := strings.ReplaceAll(bare, `""`, "")
	if at := strings.IndexAny(text, "\"'`"); at >= 0 {
		return "query has a string that does not end"
	}
	var open []rune
	closes := map[rune]rune{')': '(', ']': '[', '}': '{'}
	for _, c := range text {
		switch opens := closes[c]; {
		case strings.ContainsRune("([{", c):
			open = append(open, c)
		case opens == 0:
		case len(open) == 0 || open[len(open)-1] != opens:
			return fmt.Sprintf("query has a %c that closes nothing", c)
		default:
			open = open[:len(open)-1]
		}
	}
	switch {
	case len(open) > 0:
		return fmt.Sprintf("query has a %c that is not closed", open[len(open)-1])
	case strings.HasSuffix(strings.TrimSpace(text), "]"):
		return "query gives a range of samples"
	case strings.TrimSpace(bare) == `""`:
		return "query gives a text"
	}
	return ""
}

// findMissingComparison says of a query, bare, why any series are a good answer to it, be
// they as they may; "" if that is not so, or cannot be told without the server,
// as of a recording rule, whose name has a colon.
func findMissingComparison(bare string) string {
	bare = labelMatchers.ReplaceAllString(bare, " ")
	for _, name := range identifiers.FindAllString(bare, -1) {
		switch strings.ToLower(name) {
		case "absent", "absent_over_time", "and", "unless", "scalar":
			return ""
		}
		if strings.Contains(name, ":") {
			return ""
		}
	}
	found := comparisons.FindAllStringSubmatch(bare, -1)
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

// checkQuery checks what a gate asks Prometheus, as far as that goes without it.
func (b *builder) checkQuery(n *node, g engine.Gate, query string) {
	if query == "" {
		return // said already
	}
	if w := findUnknownPlaceholder(query); w != "" {
		b.addError(n.args["query"].Expr.Range(), "nothing stands for "+w, "there are "+joinNames(gatePlaceholders()))
		return
	}
	bare := stripStringsAndComments(query)
	if why := findQueryError(bare); why != "" {
		b.addError(n.args["query"].Expr.Range(), why, "write one that gives an instant vector or a scalar, such as a comparison")
	} else if why := findMissingComparison(bare); why != "" {
		b.addWarning("%s:%d:%d: gate %q: %s", n.at.Filename, n.at.Start.Line, n.at.Start.Column, g.Name, why)
	}
}
