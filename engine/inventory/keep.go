package inventory

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// keepReader reads the services that a pool keeps running during soft reboots.
type keepReader struct{ *builder }

// keptRule matches the names of services that scripts on a host accept. A template has no process.
var keptRule = regexp.MustCompile(`^[A-Za-z0-9:_.-]+(@[A-Za-z0-9:_.-]+)?\.service$`)

// maxKeptName is the largest length of such a name.
const maxKeptName = 200

// keepDocument is the name of the document that the argument keep adds to the configuration. No block config can have it.
const keepDocument = "keep of reboot.ign"

// readKeep returns the document with the drop-ins of the services that a pool keeps; none without keep.
func (b keepReader) readKeep(n *node, p engine.Pool) []engine.ConfigSource {
	names := b.newReader(n).readTexts("keep")
	if len(names) == 0 {
		return nil
	}
	at := n.args["keep"].Expr.Range()
	if p.Reboot.Soft == engine.NeverSoft {
		b.addError(at, `keep has no effect with soft = "never"`, `remove it, or set soft = "auto"`)
	}
	if len(names) > engine.MaxKept {
		b.addError(at, fmt.Sprintf("keep names %d services", len(names)), fmt.Sprintf("name at most %d", engine.MaxKept))
	}
	for i, name := range names {
		if len(name) > maxKeptName || !keptRule.MatchString(name) {
			b.addError(b.keptPosition(n, i), fmt.Sprintf("%q is not the name of a service", textutil.Printable(name)), "write it with its ending, such as app.service, and a template with its instance, such as app@1.service")
		}
		if slices.Contains(names[:i], name) {
			b.addError(b.keptPosition(n, i), fmt.Sprintf("keep names %s twice", name), "remove one")
		}
	}
	return []engine.ConfigSource{{Name: keepDocument, Text: keepText(names)}}
}

// keptPosition returns the position of a name in keep.
func (b keepReader) keptPosition(n *node, i int) hcl.Range {
	expr := n.args["keep"].Expr
	if list, diags := hcl.ExprList(expr); !diags.HasErrors() && i < len(list) {
		return list[i].Range()
	}
	return expr.Range()
}

// keepText returns an Ignition document with a drop-in for each service.
func keepText(names []string) string {
	type dropin struct {
		Name     string `json:"name"`
		Contents string `json:"contents"`
	}
	type unit struct {
		Name    string   `json:"name"`
		Dropins []dropin `json:"dropins"`
	}
	var units []unit
	for _, name := range names {
		text := "# written by holdfast\n[Unit]\n" + engine.SurvivalUnitLines + "[Service]\n" + engine.SurvivalServiceLines
		units = append(units, unit{name, []dropin{{engine.KeepDropin, text}}})
	}
	text, err := json.Marshal(map[string]any{"ignition": map[string]string{"version": "3.4.0"}, "systemd": map[string]any{"units": units}})
	if err != nil {
		panic(err) // texts only
	}
	return string(text)
}

// checkMembers adds an error for a pool that keeps the service of an etcd member: its restarts need the quorum of its cluster.
func (b keepReader) checkMembers() {
	if b.diags.HasErrors() {
		return
	}
	for _, pool := range b.root.childBlocks("pool") {
		n := pool.childBlock("reboot")
		if n == nil || n.args["keep"] == nil {
			continue
		}
		names, reported := b.newReader(n).readTexts("keep"), map[string]bool{}
		for _, h := range b.inv.Hosts {
			c, ok := b.inv.Cluster(h.Cluster)
			if h.Pool != pool.label || !ok || reported[c.MemberUnit()] {
				continue
			}
			if i := slices.Index(names, c.MemberUnit()); i >= 0 {
				reported[names[i]] = true
				b.addError(b.keptPosition(n, i), fmt.Sprintf("%s runs the etcd member of %s, whose restarts need the quorum of cluster %s", names[i], h.Name, c.Name),
					fmt.Sprintf("remove it, and set manage = true and survive_soft_reboots = true in etcd_cluster %q", c.Name))
			}
		}
	}
}
