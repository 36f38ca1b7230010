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

// RecordSensitive keeps the text of a sensitive value, so that output can be redacted.
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

// RecordSensitiveParts keeps the text of each sensitive part of an expression, with all functions applied: the result
// of base64encode(var.token) is as secret as the token.
func (e *Evaluator) RecordSensitiveParts(x hclsyntax.Expression, ctx *hcl.EvalContext) {
	switch t := x.(type) {
	case *hclsyntax.TemplateExpr:
		for _, part := range t.Parts {
			e.RecordSensitiveParts(part, ctx)
		}
		return
	case *hclsyntax.TemplateWrapExpr:
		e.RecordSensitiveParts(t.Wrapped, ctx)
		return
	}
	if v, diags := x.Value(ctx); !diags.HasErrors() && v.ContainsMarked() {
		e.RecordSensitive(v)
	}
}

// HideDetail replaces the detail of an error about an expression that uses a sensitive value, because functions quote
// their arguments.
func HideDetail(d *hcl.Diagnostic) {
	if d.Expression == nil || d.EvalContext == nil {
		return
	}
	for _, t := range d.Expression.Variables() {
		for ctx := d.EvalContext; ctx != nil; ctx = ctx.Parent() {
			if _, here := ctx.Variables[t.RootName()]; !here {
				continue
			}
			if refersToSecret(ctx.Variables[t.RootName()], t) {
				d.Detail = "it uses a sensitive value, so details are not shown"
				return
			}
			break
		}
	}
}

// refersToSecret reports whether a traversal ends at a sensitive value. The whole of var or local is sensitive if one
// of its values is.
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
