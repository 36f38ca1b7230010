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

// gatePoints are the points of a run at which gates are asked.
func gatePoints() []string {
	var words []string
	for _, w := range []engine.GateWhen{engine.BeforeRun, engine.BeforeBatch, engine.BeforeHost, engine.AfterHost, engine.AfterBatch} {
		words = append(words, string(w))
	}
	return words
}

// gate reads one gate block and checks that it asks one thing, which it can
// ask at all of its points.
func (b *builder) gate(n *node) engine.Gate {
	r := b.read(n)
	g := engine.Gate{
		Name: b.label(n), Command: r.text("command"), HostCommand: r.text("host_command"),
		Timeout: r.span("timeout"), Interval: r.span("interval"),
	}
	if retries, ok := r.whole("retries", "a number of answers", 0, 1_000_000); ok {
		g.Retries = &retries
	}
	g.Successes, _ = r.whole("successes", "a number of answers", 1, 1_000_000)
	for _, w := range r.texts("when") {
		if !slices.Contains(gatePoints(), w) {
			b.fail(n.args["when"].Expr.Range(), fmt.Sprintf("no point %q in a run", w), "gates are asked at "+strings.Join(gatePoints(), ", "))
		}
		g.When = append(g.When, engine.GateWhen(w))
	}
	if r.given("host_command") && g.At(engine.BeforeRun) {
		b.fail(n.args["when"].Expr.Range(), "no host to ask at before_run", "use before_batch or before_host, or a command on the bastion")
	}
	if h := n.one("http"); h != nil {
		g.HTTP = b.http(h, g)
	}
	if p := n.one("promql"); p != nil {
		g.PromQL = b.promql(p, g)
	}
	b.onlyOne(r)
	b.answerable(n, g)
	return g
}

// onlyOne checks that a gate asks exactly one thing.
func (b *builder) onlyOne(r reader) {
	var given []string
	n := r.n
	for _, name := range []string{"command", "host_command", "http", "promql"} {
		if r.given(name) || n.one(name) != nil {
			given = append(given, name)
		}
	}
	switch {
	case len(given) == 0:
		b.fail(n.at, "gate asks nothing", "add a command, a host_command, or a block http or promql")
	case len(given) > 1:
		b.fail(n.at, "gate asks more than one thing: "+strings.Join(given, " and "), "keep one; write another gate for the other")
	}
}

// answerable warns of a gate that cannot be passed in its time.
func (b *builder) answerable(n *node, g engine.Gate) {
	timeout := time.Duration(cmp.Or(g.Timeout, engine.Duration(5*time.Minute)))
	interval := time.Duration(cmp.Or(g.Interval, engine.Duration(5*time.Second)))
	if g.Successes > 1 && interval > timeout/time.Duration(g.Successes-1) {
		b.warn("%s:%d:%d: gate %q can never be passed: %d good answers in a row, one every %v, take longer than its timeout of %v", n.at.Filename, n.at.Start.Line, n.at.Start.Column, g.Name, g.Successes, interval, timeout)
	}
}

// placeholder is what stands for a part of what a gate is about.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

func (b *builder) http(n *node, g engine.Gate) *engine.HTTPGate {
	r := b.read(n)
	h := &engine.HTTPGate{URL: r.text("url"), Match: r.text("match")}
	h.Status, _ = r.whole("status", "an HTTP status", 100, 599)
	if _, err := regexp.Compile(h.Match); err != nil {
		b.fail(n.args["match"].Expr.Range(), "match is not a regular expression", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	for _, p := range placeholder.FindAllString(h.URL, -1) {
		if !slices.Contains(standsFor(), p) {
			b.fail(n.args["url"].Expr.Range(), "nothing stands for "+p, "there are "+listed(standsFor()))
			return h
		}
	}
	b.hostless(n.args["url"], h.URL, g)
	b.web(n.args["url"], placeholder.ReplaceAllString(h.URL, "x"))
	return h
}

func (b *builder) promql(n *node, g engine.Gate) *engine.PromQLGate {
	r := b.read(n)
	p := &engine.PromQLGate{URL: r.text("url"), Query: r.text("query")}
	b.hostless(n.args["query"], p.Query, g)
	b.query(n, g, p.Query)
	if name := placeholder.FindString(p.URL); name != "" {
		b.fail(n.args["url"].Expr.Range(), "nothing stands for "+name+" here", "there is one server for all; the query can name the host")
		return p
	}
	u := b.web(n.args["url"], p.URL)
	if u == nil {
		return p
	}
	if at := n.args["url"].Expr.Range(); strings.Contains(u.Path, "/api/v1") || strings.HasSuffix(u.Path, "/graph") || u.RawQuery != "" {
		b.fail(at, "url is more than the server's", "take out all from /api/v1 or /graph on; the query is an argument of its own")
	}
	return p
}

// hostless checks that what is asked at points that are about no single host
// does not name one.
func (b *builder) hostless(a *hclsyntax.Attribute, text string, g engine.Gate) {
	for _, w := range []engine.GateWhen{engine.BeforeRun, engine.BeforeBatch, engine.AfterBatch} {
		for _, p := range []string{"{host}", "{address}"} {
			if g.At(w) && strings.Contains(text, p) {
				b.fail(a.Expr.Range(), fmt.Sprintf("%s stands for nothing at %s", p, w), "ask before_host or after_host, or take it out; {pool} can be used everywhere")
				return
			}
		}
	}
}

// web checks the address of a web server; nil if it is none.
func (b *builder) web(a *hclsyntax.Attribute, text string) *url.URL {
	if text == "" || strings.ContainsAny(text, "\x00\n\r") {
		return nil // said already
	}
	at := a.Expr.Range()
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		b.fail(at, "url is not an address of the web", "it begins with http:// or https:// and a host, such as https://prometheus.example:9090")
	case u.User != nil:
		b.fail(at, "url has a user or password", "it would be shown in plans; ask with a command that reads it from a file or the environment")
	default:
		return u
	}
	return nil
}
