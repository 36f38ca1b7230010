package inventory

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// secret marks values that must never be shown.
const secret = "sensitive"

// sensitiveArguments may contain sensitive values: they go to a shell and are shown only redacted, or are documents,
// which are never shown.
var sensitiveArguments = []string{"command", "undo", "become_password_command", "content"}

// recordSensitive keeps the text of a sensitive value, so that output can be redacted.
func (l *loader) recordSensitive(v cty.Value) {
	v, _ = v.UnmarkDeep()
	_ = cty.Walk(v, func(_ cty.Path, part cty.Value) (bool, error) {
		if !part.IsKnown() || part.IsNull() || part.Type() != cty.String && part.Type() != cty.Number {
			return true, nil
		}
		text, err := convert.Convert(part, cty.String)
		if err == nil && text.AsString() != "" && !slices.Contains(l.sensitive, text.AsString()) {
			l.sensitive = append(l.sensitive, text.AsString())
		}
		return true, nil
	})
}

// recordSensitiveParts keeps the sensitive parts of an expression after all functions: base64encode(var.token) is as
// secret as the token.
func (s *scope) recordSensitiveParts(e hclsyntax.Expression, ctx *hcl.EvalContext) {
	switch t := e.(type) {
	case *hclsyntax.TemplateExpr:
		for _, part := range t.Parts {
			s.recordSensitiveParts(part, ctx)
		}
		return
	case *hclsyntax.TemplateWrapExpr:
		s.recordSensitiveParts(t.Wrapped, ctx)
		return
	}
	if v, diags := e.Value(ctx); !diags.HasErrors() && v.ContainsMarked() {
		s.loader.recordSensitive(v)
	}
}

// hideDetail replaces the detail of an error about an expression that uses a sensitive value, because functions quote
// their arguments.
func hideDetail(d *hcl.Diagnostic) {
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

// refersToSecret reports whether a traversal refers to a sensitive value, or passes one. All of var or local is
// sensitive if a part is.
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

func containsSecret(text string, sensitive []string) bool {
	return slices.ContainsFunc(sensitive, func(s string) bool { return strings.Contains(text, s) })
}
