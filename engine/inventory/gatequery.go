package inventory

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"holdfast/engine"
)

func gatePlaceholders() []string { return []string{"{host}", "{address}", "{pool}"} }

// placeholderLike matches words that look like a placeholder. In a query, braces also stand around label matchers, and
// around numbers and names of letters in regular expressions.
var placeholderLike = regexp.MustCompile(`(\\[pP])?\{[A-Za-z_]+\}`)

func findUnknownPlaceholder(query string) string {
	for _, w := range placeholderLike.FindAllString(query, -1) {
		if strings.HasPrefix(w, "{") && !slices.Contains(gatePlaceholders(), w) {
			return w
		}
	}
	return ""
}

var (
	// quotedParts matches strings and comments: they hold no operators. Nor do label matchers.
	quotedParts   = regexp.MustCompile("\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])*'|`[^`]*`|#[^\n]*")
	labelMatchers = regexp.MustCompile(`\{[^{}]*\}`)
	comparisons   = regexp.MustCompile(`(?:==|!=|<=|>=|<|>)\s*(\w*)`)
	identifiers   = regexp.MustCompile(`[A-Za-z_:][\w:]*`)
)

func stripStringsAndComments(query string) string {
	return quotedParts.ReplaceAllStringFunc(query, func(part string) string {
		if part[0] == '#' {
			return " "
		}
		return ` "" `
	})
}

// findQueryError returns why no server can answer a query well, as far as that shows without parsing it, or "". A run
// would find out only at its gate, with hosts disrupted. bare has no strings and comments.
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
		return "query returns a range of samples"
	case strings.TrimSpace(bare) == `""`:
		return "query returns a string"
	}
	return ""
}

// findMissingComparison returns why a query accepts any value of a series, or "". It returns "" for a name with a
// colon, too: only the server knows its recording rule. bare has no strings and comments.
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
		return "a comparison with bool returns 0 where it does not hold, which is also a good answer; remove bool"
	}
	return "its query compares nothing, so any value is good; add a comparison such as == 1, or use absent(…)"
}

func (b *builder) checkQuery(n *node, g engine.Gate, query string) {
	if query == "" {
		return // reported already
	}
	if w := findUnknownPlaceholder(query); w != "" {
		b.addError(n.args["query"].Expr.Range(), "unknown placeholder "+w, "use "+joinNames(gatePlaceholders()))
		return
	}
	bare := stripStringsAndComments(query)
	if why := findQueryError(bare); why != "" {
		b.addError(n.args["query"].Expr.Range(), why, "write one that returns an instant vector or a scalar, such as a comparison")
	} else if why := findMissingComparison(bare); why != "" {
		b.addWarning("%s:%d:%d: gate %q: %s", n.at.Filename, n.at.Start.Line, n.at.Start.Column, g.Name, why)
	}
}
