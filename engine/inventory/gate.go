package inventory

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"holdfast/engine"
)

func gatePoints() []string {
	var words []string
	for _, w := range []engine.GateWhen{engine.BeforeRun, engine.BeforeBatch, engine.BeforeHost, engine.AfterHost, engine.AfterBatch} {
		words = append(words, string(w))
	}
	return words
}

// gateReader reads a gate block.
type gateReader struct{ *builder }

func (b gateReader) readGate(n *node) engine.Gate {
	r := b.newReader(n)
	g := engine.Gate{
		Name: b.checkDisplayName(n), Command: r.readText("command"), HostCommand: r.readText("host_command"),
		Timeout: r.readDuration("timeout"), Interval: r.readDuration("interval"),
	}
	if retries, ok := r.readWholeNumber("retries", "a number of answers", 0, 1_000_000); ok {
		g.Retries = &retries
	}
	g.Successes, _ = r.readWholeNumber("successes", "a number of answers", 1, 1_000_000)
	for _, w := range r.readTexts("when") {
		if !slices.Contains(gatePoints(), w) {
			b.addError(n.args["when"].Expr.Range(), fmt.Sprintf("unknown point %q in a run", w), "use "+strings.Join(gatePoints(), ", "))
		}
		g.When = append(g.When, engine.GateWhen(w))
	}
	if r.hasValue("host_command") && g.At(engine.BeforeRun) {
		b.addError(n.args["when"].Expr.Range(), "no host to ask at before-run", "use before-batch or before-host, or a command on the bastion")
	}
	if h := n.childBlock("http"); h != nil {
		g.HTTP = b.readHTTPGate(h, g)
	}
	if p := n.childBlock("promql"); p != nil {
		g.PromQL = b.readPromQLGate(p, g)
	}
	b.checkSingleQuestion(r)
	b.warnIfUnpassable(n, g)
	return g
}

func (b gateReader) checkSingleQuestion(r reader) {
	var given []string
	n := r.node
	for _, name := range []string{"command", "host_command", "http", "promql"} {
		if r.hasValue(name) || n.childBlock(name) != nil {
			given = append(given, name)
		}
	}
	switch {
	case len(given) == 0:
		b.addError(n.at, "gate asks nothing", "add a command, a host_command, or a block http or promql")
	case len(given) > 1:
		b.addError(n.at, "gate asks more than one thing: "+strings.Join(given, " and "), "keep one; write another gate for the other")
	}
}

func (b gateReader) warnIfUnpassable(n *node, g engine.Gate) {
	timeout := time.Duration(cmp.Or(g.Timeout, engine.Duration(5*time.Minute)))
	interval := time.Duration(cmp.Or(g.Interval, engine.Duration(5*time.Second)))
	if g.Successes > 1 && interval > timeout/time.Duration(g.Successes-1) {
		b.addWarning("%s:%d:%d: gate %q can never be passed: %d good answers in a row, one every %v, take longer than its timeout of %v", n.at.Filename, n.at.Start.Line, n.at.Start.Column, g.Name, g.Successes, interval, timeout)
	}
}

// placeholder matches the parts of a URL or query that a gate replaces.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

func (b gateReader) readHTTPGate(n *node, g engine.Gate) *engine.HTTPGate {
	r := b.newReader(n)
	h := &engine.HTTPGate{URL: r.readText("url"), Match: r.readText("match")}
	h.Status, _ = r.readWholeNumber("status", "an HTTP status", 100, 599)
	if _, err := regexp.Compile(h.Match); err != nil {
		b.addError(n.args["match"].Expr.Range(), "match is not a regular expression", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	for _, p := range placeholder.FindAllString(h.URL, -1) {
		if !slices.Contains(gatePlaceholders(), p) {
			b.addError(n.args["url"].Expr.Range(), "unknown placeholder "+p, "use "+joinNames(gatePlaceholders()))
			return h
		}
	}
	b.checkHostPlaceholders(n.args["url"], h.URL, g)
	b.checkServerURL(n.args["url"], placeholder.ReplaceAllString(h.URL, "x"))
	return h
}

func (b gateReader) readPromQLGate(n *node, g engine.Gate) *engine.PromQLGate {
	r := b.newReader(n)
	p := &engine.PromQLGate{URL: r.readText("url"), Query: r.readText("query")}
	b.checkHostPlaceholders(n.args["query"], p.Query, g)
	b.checkQuery(n, g, p.Query)
	if name := placeholder.FindString(p.URL); name != "" {
		b.addError(n.args["url"].Expr.Range(), "url cannot contain "+name, "one server answers for all hosts; name the host in the query")
		return p
	}
	u := b.checkServerURL(n.args["url"], p.URL)
	if u == nil {
		return p
	}
	if at := n.args["url"].Expr.Range(); strings.Contains(u.Path, "/api/v1") || strings.HasSuffix(u.Path, "/graph") || u.RawQuery != "" {
		b.addError(at, "url has more than the server's address", "remove everything from /api/v1 or /graph on; query is a separate argument")
	}
	return p
}

func (b gateReader) checkHostPlaceholders(a *hclsyntax.Attribute, text string, g engine.Gate) {
	for _, w := range []engine.GateWhen{engine.BeforeRun, engine.BeforeBatch, engine.AfterBatch} {
		for _, p := range []string{"{host}", "{address}"} {
			if g.At(w) && strings.Contains(text, p) {
				b.addError(a.Expr.Range(), fmt.Sprintf("%s has no value at %s", p, w), "use before-host or after-host, or remove it; {pool} can be used everywhere")
				return
			}
		}
	}
}

func (b gateReader) checkServerURL(a *hclsyntax.Attribute, text string) *url.URL {
	if text == "" || strings.ContainsAny(text, "\x00\n\r") {
		return nil // reported already
	}
	at := a.Expr.Range()
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		b.addError(at, "url is not a web address", "it begins with http:// or https:// and a host, such as https://prometheus.example:9090")
	case u.User != nil:
		b.addError(at, "url has a user or password", "it would be shown in plans; ask with a command that reads it from a file or the environment")
	default:
		return u
	}
	return nil
}

func gatePlaceholders() []string { return []string{"{host}", "{address}", "{pool}"} }

// placeholderLike matches words that look like a placeholder. Other braces in a query belong to label matchers, or to
// the repetitions and letter classes (\p{L}) of regular expressions.
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
	// quotedParts matches strings and comments. Neither they nor label matchers contain operators.
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

// findQueryError returns the reason why no server can evaluate a query, or "". It finds only errors that show without a
// parser. Without this check, a run would find the error at its gate, with hosts disrupted. bare is the query without
// the texts of strings and without comments.
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

// findMissingComparison returns the reason why a query accepts any value of a series, or "". It also returns "" for a
// query with a name that contains a colon: such a name is a recording rule, and only the server knows its expression.
// bare is the query without the texts of strings and without comments.
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

func (b gateReader) checkQuery(n *node, g engine.Gate, query string) {
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
