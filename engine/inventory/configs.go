package inventory

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"holdfast/engine"
)

var documentEndings = []string{".bu", ".ign", ".json", ".yaml", ".yml"}

var documentRule = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

func (b *builder) readConfigs(r reader) []engine.ConfigSource {
	var all []engine.ConfigSource
	for _, p := range r.readFiles("configs") {
		if slices.ContainsFunc(all, func(c engine.ConfigSource) bool { return c.Path == p }) {
			b.addError(r.node.args["configs"].Expr.Range(), "configs names "+p+" twice", "remove one; its contents would be appended twice")
			continue
		}
		all = append(all, engine.ConfigSource{Path: p})
	}
	named := map[string]bool{}
	for _, n := range r.node.childBlocks("config") {
		switch {
		case !documentRule.MatchString(n.label) || !slices.Contains(documentEndings, path.Ext(n.label)):
			b.addError(n.at, fmt.Sprintf("%q is not a valid document name", n.label), "use a file name that ends in one of "+strings.Join(documentEndings, ", "))
		case named[n.label]:
			b.addError(n.at, fmt.Sprintf("a second config %q in %s %q", n.label, r.node.kind.name, r.node.label), "give each its own name; messages refer to it")
		}
		named[n.label] = true
		text := reader{scope: r.scope, node: n, id: r.id}.readText("content")
		all = append(all, engine.ConfigSource{Name: n.label, Text: text})
	}
	return all
}

// checkRepeatedConfigs adds an error for a configuration that both a host and its pool name: it would be merged twice.
func (b *builder) checkRepeatedConfigs(n *node, h engine.Host) {
	p, _ := b.inv.Pool(h.Pool)
	for _, c := range h.Configs {
		if c.Path != "" && slices.Contains(p.Configs, c) {
			b.addError(n.args["configs"].Expr.Range(), fmt.Sprintf("configs names %s, as pool %q does", c.Path, p.Name), "remove it here; a host also has the configurations of its pool")
		}
	}
}
