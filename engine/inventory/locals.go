package inventory

import (
	"fmt"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// locals evaluates local values in the order of their dependencies.
func (s *scope) locals(nodes []*node) {
	waiting := map[string]*hclsyntax.Attribute{}
	for _, n := range nodes {
		for name, a := range n.args {
			if _, twice := waiting[name]; twice {
				s.l.fail(a.NameRange, fmt.Sprintf("a second local %q", name), "names are unique over all files")
				continue
			}
			waiting[name] = a
		}
	}
	for len(waiting) > 0 {
		ready := readyLocals(waiting)
		if len(ready) == 0 {
			s.cycle(waiting)
			return
		}
		for _, name := range ready {
			a := waiting[name]
			v, diags := a.Expr.Value(s.context(a.SrcRange, ""))
			s.l.diags = append(s.l.diags, diags...)
			if diags.HasErrors() {
				v = cty.DynamicVal
			}
			s.lets[name] = v
			delete(waiting, name)
		}
	}
}

// readyLocals are those that refer to no other that is waiting.
func readyLocals(waiting map[string]*hclsyntax.Attribute) []string {
	var ready []string
	for name, a := range waiting {
		if len(refersTo(a.Expr, waiting)) == 0 {
			ready = append(ready, name)
		}
	}
	sort.Strings(ready)
	return ready
}

// refersTo lists the locals of a set that an expression refers to.
func refersTo(e hcl.Expression, set map[string]*hclsyntax.Attribute) []string {
	var names []string
	for _, t := range e.Variables() {
		if t.RootName() != "local" || len(t) < 2 {
			continue
		}
		if step, ok := t[1].(hcl.TraverseAttr); ok {
			if _, waiting := set[step.Name]; waiting {
				names = append(names, step.Name)
			}
		}
	}
	return names
}

func (s *scope) cycle(waiting map[string]*hclsyntax.Attribute) {
	names := make([]string, 0, len(waiting))
	for name := range waiting {
		names = append(names, name)
		s.lets[name] = cty.DynamicVal
	}
	sort.Strings(names)
	first := waiting[names[0]]
	s.l.fail(first.NameRange, "locals refer to each other in a circle", "local."+strings.Join(names, ", local.")+" need each other; give one of them a value of its own")
}
