package inventory

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"holdfast/engine/inventory/expression"
)

func (s *scope) evaluateLocals(nodes []*node) {
	waiting := map[string]*hclsyntax.Attribute{}
	for _, n := range nodes {
		for name, a := range n.args {
			if _, twice := waiting[name]; twice {
				s.loader.addError(a.NameRange, fmt.Sprintf("a second local %q", name), "names must be unique in all files")
				continue
			}
			waiting[name] = a
		}
	}
	for len(waiting) > 0 {
		ready := readyLocals(waiting)
		if len(ready) == 0 {
			s.reportCycle(waiting)
			return
		}
		for _, name := range ready {
			a := waiting[name]
			v, ok := s.evaluate(a.Expr, s.evalContext(a.SrcRange, ""))
			if err := expression.CheckLocalSize(v); ok && err != nil {
				s.loader.addError(a.SrcRange, fmt.Sprintf("local %q is too large", a.Name), err.Error())
				ok = false
			}
			if !ok {
				v = cty.DynamicVal
			}
			s.locals[name] = v
			delete(waiting, name)
		}
	}
}

func readyLocals(waiting map[string]*hclsyntax.Attribute) []string {
	var ready []string
	for name, a := range waiting {
		if len(referencedLocals(a.Expr, waiting)) == 0 {
			ready = append(ready, name)
		}
	}
	sort.Strings(ready)
	return ready
}

// referencedLocals returns the locals of a set that an expression refers to. An expression that uses local as a whole
// refers to all of them.
func referencedLocals(e hcl.Expression, set map[string]*hclsyntax.Attribute) []string {
	var names []string
	for _, t := range e.Variables() {
		if t.RootName() != "local" {
			continue
		}
		if name, one := localName(t); !one {
			names = append(names, slices.Sorted(maps.Keys(set))...)
		} else if _, waiting := set[name]; waiting {
			names = append(names, name)
		}
	}
	return names
}

// localName returns the NAME of local.NAME or local["NAME"].
func localName(t hcl.Traversal) (string, bool) {
	if len(t) < 2 {
		return "", false
	}
	switch step := t[1].(type) {
	case hcl.TraverseAttr:
		return step.Name, true
	case hcl.TraverseIndex:
		if step.Key.Type() == cty.String {
			return step.Key.AsString(), true
		}
	}
	return "", false
}

// reportCycle adds an error for locals that refer to each other. Each local that is left refers to another, so
// following the references must lead back.
func (s *scope) reportCycle(waiting map[string]*hclsyntax.Attribute) {
	for name := range waiting {
		s.locals[name] = cty.DynamicVal
	}
	way := []string{slices.Sorted(maps.Keys(waiting))[0]}
	for {
		next := referencedLocals(waiting[way[len(way)-1]].Expr, waiting)[0]
		if i := slices.Index(way, next); i >= 0 {
			way = append(way[i:], next)
			break
		}
		way = append(way, next)
	}
	s.loader.addError(waiting[way[0]].NameRange, "locals need each other", "local."+strings.Join(way, " needs local.")+"; give one of them a value of its own")
}
