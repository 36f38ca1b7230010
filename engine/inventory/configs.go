package inventory

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"holdfast/engine"
)

// endings are the ends of names that documents have.
var endings = []string{".bu", ".ign", ".json", ".yaml", ".yml"}

var documentRule = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// configs reads where the configurations of a pool or host come from: first
// files and folders, then the documents written in the block itself.
func (b *builder) configs(r reader) []engine.ConfigSource {
	var all []engine.ConfigSource
	for _, p := range r.paths("configs") {
		if slices.ContainsFunc(all, func(c engine.ConfigSource) bool { return c.Path == p }) {
			b.fail(r.n.args["configs"].Expr.Range(), "configs names "+p+" twice", "take one out; what it appends would be there twice")
			continue
		}
		all = append(all, engine.ConfigSource{Path: p})
	}
	named := map[string]bool{}
	for _, n := range r.n.all("config") {
		switch {
		case !documentRule.MatchString(n.label) || !slices.Contains(endings, path.Ext(n.label)):
			b.fail(n.at, fmt.Sprintf("%q is no name of a document", n.label), "it is a file name whose ending says the format: "+strings.Join(endings, ", "))
		case named[n.label]:
			b.fail(n.at, fmt.Sprintf("a second config %q in %s %q", n.label, r.n.kind.name, r.n.label), "give each its own name; messages call them by it")
		}
		named[n.label] = true
		text := reader{s: r.s, n: n, id: r.id}.text("content")
		all = append(all, engine.ConfigSource{Name: n.label, Text: text})
	}
	return all
}

// again checks that a host does not name what its pool does: it would be
// merged twice.
func (b *builder) again(n *node, h engine.Host) {
	p, _ := b.inv.Pool(h.Pool)
	for _, c := range h.Configs {
		if c.Path != "" && slices.Contains(p.Configs, c) {
			b.fail(n.args["configs"].Expr.Range(), fmt.Sprintf("configs names %s, as pool %q does", c.Path, p.Name), "take it out here; a host has the configurations of its pool, too")
		}
	}
}
