package inventory

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"holdfast/engine"
)

// scope evaluates expressions of an inventory.
type scope struct {
	l    *loader
	vars map[string]cty.Value
	lets map[string]cty.Value

	contexts map[string]*hcl.EvalContext // by file, once all values are known
}

// newScope evaluates variables and locals.
func (l *loader) newScope(root *node) *scope {
	s := &scope{l: l, vars: map[string]cty.Value{}, lets: map[string]cty.Value{}}
	given := l.given()
	for _, n := range root.all("variable") {
		s.variable(n, given)
	}
	l.unused(given)
	s.locals(root.all("locals"))
	s.contexts = map[string]*hcl.EvalContext{}
	return s
}

// context is what expressions of a file may refer to; ${id} where it is given.
func (s *scope) context(at hcl.Range, id string) *hcl.EvalContext {
	ctx := s.contexts[at.Filename]
	if ctx == nil {
		ctx = &hcl.EvalContext{
			Variables: map[string]cty.Value{"var": cty.ObjectVal(s.vars), "local": cty.ObjectVal(s.lets)},
			Functions: s.l.functions(at),
		}
		if s.contexts != nil {
			s.contexts[at.Filename] = ctx
		}
	}
	if id == "" {
		return ctx
	}
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{"id": cty.StringVal(id)}
	return child
}

// evaluate gives the value of an expression; false if it has none, which is
// noted then.
func (s *scope) evaluate(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, bool) {
	v, diags := e.Value(ctx)
	s.l.diags = append(s.l.diags, s.explain(differing(diags))...)
	return v, !diags.HasErrors()
}

// differing leaves out what a loop complains about in each of its rounds.
func differing(diags hcl.Diagnostics) hcl.Diagnostics {
	type complaint struct{ at, summary, detail string }
	told := map[complaint]bool{}
	return slices.DeleteFunc(diags, func(d *hcl.Diagnostic) bool {
		c := complaint{summary: d.Summary, detail: d.Detail}
		if d.Subject != nil {
			c.at = d.Subject.String()
		}
		again := told[c]
		told[c] = true
		return again
	})
}

// explain words the evaluator's complaints for who writes an inventory, and
// takes sensitive values out of them.
func (s *scope) explain(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range friendlier(diags) {
		discreet(d)
		e, ok := d.Expression.(interface{ Variables() []hcl.Traversal })
		if !ok || len(e.Variables()) != 1 {
			continue
		}
		t := e.Variables()[0]
		switch d.Summary {
		case "Unsupported attribute":
			s.missing(d, t)
		case "Unknown variable":
			d.Summary = fmt.Sprintf("unknown word %q", t.RootName())
			d.Detail = "write text in quotes; variables are var.NAME, locals are local.NAME"
			if t.RootName() == "id" {
				d.Detail = "id is the number of a host in a range; only the arguments of a hosts block know it"
			}
		}
	}
	return diags
}

// missing says which variable or local there is not.
func (s *scope) missing(d *hcl.Diagnostic, t hcl.Traversal) {
	if len(t) < 2 {
		return
	}
	step, ok := t[1].(hcl.TraverseAttr)
	if !ok {
		return
	}
	values, what, add := s.vars, "variable", `add variable "`+step.Name+`" {}`
	switch t.RootName() {
	case "var":
	case "local":
		values, what, add = s.lets, "local", "add "+step.Name+" = … to a locals block"
	default:
		return
	}
	if _, known := values[step.Name]; known {
		return // it is a part of it that is missing
	}
	d.Summary, d.Detail = fmt.Sprintf("no %s %q", what, step.Name), add
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	if near := engine.Nearest(step.Name, names); near != "" {
		d.Detail = "did you mean " + t.RootName() + "." + near + "?"
	}
}
