package inventory

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"holdfast/engine/inventory/expression"
	"holdfast/engine/textutil"
)

// scope evaluates the expressions of an inventory.
type scope struct {
	loader *loader
	vars   map[string]cty.Value
	locals map[string]cty.Value

	contexts map[string]*hcl.EvalContext // by file, once all values are known
}

func (l *loader) newScope(root *node) *scope {
	s := &scope{loader: l, vars: map[string]cty.Value{}, locals: map[string]cty.Value{}}
	given := l.givenValues()
	for _, n := range root.childBlocks("variable") {
		s.evaluateVariable(n, given)
	}
	l.reportUnusedValues(given)
	s.evaluateLocals(root.childBlocks("locals"))
	s.contexts = map[string]*hcl.EvalContext{}
	return s
}

// evalContext returns the variables and functions that expressions of a file may use. ${id} is set if id is.
func (s *scope) evalContext(at hcl.Range, id string) *hcl.EvalContext {
	ctx := s.contexts[at.Filename]
	if ctx == nil {
		ctx = &hcl.EvalContext{
			Variables: map[string]cty.Value{"var": cty.ObjectVal(s.vars), "local": cty.ObjectVal(s.locals)},
			Functions: s.loader.values.Functions(at),
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

// evaluate returns the value of an expression. It adds its errors and returns false if there is none.
func (s *scope) evaluate(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, bool) {
	v, diags := e.Value(ctx)
	s.loader.diags = append(s.loader.diags, s.explainErrors(dropRepeated(diags))...)
	return v, !diags.HasErrors()
}

// dropRepeated removes the errors that a loop repeats in each of its rounds.
func dropRepeated(diags hcl.Diagnostics) hcl.Diagnostics {
	type complaint struct{ at, summary, detail string }
	reported := map[complaint]bool{}
	return slices.DeleteFunc(diags, func(d *hcl.Diagnostic) bool {
		c := complaint{summary: d.Summary, detail: d.Detail}
		if d.Subject != nil {
			c.at = d.Subject.String()
		}
		again := reported[c]
		reported[c] = true
		return again
	})
}

// explainErrors words the evaluator's errors for authors of inventories, and removes sensitive values.
func (s *scope) explainErrors(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range addAdvice(diags) {
		expression.HideDetail(d)
		e, ok := d.Expression.(interface{ Variables() []hcl.Traversal })
		if !ok || len(e.Variables()) != 1 {
			continue
		}
		t := e.Variables()[0]
		switch d.Summary {
		case "Unsupported attribute":
			s.explainMissing(d, t)
		case "Unknown variable":
			d.Summary = fmt.Sprintf("unknown word %q", t.RootName())
			d.Detail = "write text in quotes; variables are var.NAME, locals are local.NAME"
			if t.RootName() == "id" {
				d.Detail = "id is the number of a host in a range; use it only in a hosts block"
			}
		}
	}
	return diags
}

func (s *scope) explainMissing(d *hcl.Diagnostic, t hcl.Traversal) {
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
		values, what, add = s.locals, "local", "add "+step.Name+" = … to a locals block"
	default:
		return
	}
	if _, known := values[step.Name]; known {
		return // only a part of the value is missing
	}
	d.Summary, d.Detail = fmt.Sprintf("no %s %q", what, step.Name), add
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	if near := textutil.Nearest(step.Name, names); near != "" {
		d.Detail = "did you mean " + t.RootName() + "." + near + "?"
	}
}
