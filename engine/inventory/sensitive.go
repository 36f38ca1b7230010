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

// sensitiveArguments are the arguments that may be made of sensitive values:
// those that are given to a shell and otherwise only shown redacted, and
// documents, which are not shown at all.
var sensitiveArguments = []string{"command", "undo", "become_password_command", "content"}

// recordSensitive notes the text of a sensitive value, so that output can be redacted.
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

// recordSensitiveParts notes the sensitive parts of an expression as they are after all
// functions: base64encode(var.token) is as secret as the token.
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

// hideDetail takes the detail out of a complaint about an expression that has
// to do with a sensitive value: functions quote their arguments.
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
				d.Detail = "it has to do with a sensitive value, so that more cannot be shown"
				return
			}
			break
		}
	}
}

// refersToSecret reports whether what a traversal refers to, or what is on the
// way there, is sensitive. The whole of var or local counts as what it holds.
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

// containsSecret reports whether a text holds a sensitive value.
func containsSecret(text string, sensitive []string) bool {
	return slices.ContainsFunc(sensitive, func(s string) bool { return strings.Contains(text, s) })
}
