package expression

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// secret is the mark of sensitive values.
const secret = "sensitive"

// MarkSensitive marks a value that must never be shown.
func MarkSensitive(v cty.Value) cty.Value { return v.Mark(secret) }

// RecordSensitive keeps the texts of all strings and numbers in a sensitive value, so that output can be redacted. It
// does not keep keys, bools and empty strings.
func (e *Evaluator) RecordSensitive(v cty.Value) {
	v, _ = v.UnmarkDeep()
	_ = cty.Walk(v, func(_ cty.Path, part cty.Value) (bool, error) {
		if !part.IsKnown() || part.IsNull() || part.Type() != cty.String && part.Type() != cty.Number {
			return true, nil
		}
		text, err := convert.Convert(part, cty.String)
		if err == nil && text.AsString() != "" && !slices.Contains(e.Sensitive, text.AsString()) {
			e.Sensitive = append(e.Sensitive, text.AsString())
		}
		return true, nil
	})
}

// RecordSensitiveParts keeps the results of the sensitive parts of an expression. Each literal and each interpolation
// of a template is a part; any other expression is one part. It keeps results, and not only the values of variables,
// because base64encode(var.token) is as secret as var.token.
func (e *Evaluator) RecordSensitiveParts(x hclsyntax.Expression, ctx *hcl.EvalContext) {
	switch t := x.(type) {
	case *hclsyntax.TemplateExpr:
		for _, part := range t.Parts {
			e.RecordSensitiveParts(part, ctx)
		}
		return
	case *countedPart:
		e.RecordSensitiveParts(t.Expression, ctx)
		return
	case *hclsyntax.TemplateWrapExpr:
		e.RecordSensitiveParts(t.Wrapped, ctx)
		return
	}
	if v, diags := x.Value(ctx); !diags.HasErrors() && v.ContainsMarked() {
		e.RecordSensitive(v)
	}
}

// HideDetail replaces the detail of an error about an expression that uses a sensitive value, because errors of functions
// repeat their arguments.
func HideDetail(d *hcl.Diagnostic) {
	if d.Expression == nil || d.EvalContext == nil {
		return
	}
	if callsSensitive(d.Expression) {
		d.Detail = hiddenDetail
		return
	}
	for _, t := range d.Expression.Variables() {
		for ctx := d.EvalContext; ctx != nil; ctx = ctx.Parent() {
			if _, here := ctx.Variables[t.RootName()]; !here {
				continue
			}
			if refersToSecret(ctx.Variables[t.RootName()], t) {
				d.Detail = hiddenDetail
				return
			}
			break
		}
	}
}

const hiddenDetail = "it uses a sensitive value, so details are not shown"

func callsSensitive(x hcl.Expression) bool {
	node, ok := x.(hclsyntax.Node)
	if !ok {
		return false
	}
	found := false
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		call, isCall := n.(*hclsyntax.FunctionCallExpr)
		found = found || isCall && call.Name == "sensitive"
		return nil
	})
	return found
}

// refersToSecret reports whether the value that a traversal reaches is sensitive or contains a sensitive value. If a
// step of the traversal fails, the value before that step counts. So a reference to all of var, or to all of local,
// counts as sensitive if one value in it is sensitive.
func refersToSecret(v cty.Value, t hcl.Traversal) bool {
	for _, step := range t[1:] {
		next, diags := hcl.Traversal{step}.TraverseRel(v)
		if diags.HasErrors() {
			break
		}
		v = next
	}
	return v.ContainsMarked()
}
