package expression

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// CountCosts makes the evaluator count the rounds of all for loops in parsed HCL and the bytes of all templates, and
// refuse too many of them. Otherwise a few nested loops could run for days, or use up memory.
func (e *Evaluator) CountCosts(parsed hclsyntax.Node) {
	_ = hclsyntax.VisitAll(parsed, func(n hclsyntax.Node) hcl.Diagnostics {
		switch x := n.(type) {
		case *hclsyntax.ForExpr:
			x.CollExpr = &countedCollection{ParenthesesExpr: parenthesizeExpression(x.CollExpr), evaluator: e}
		case *hclsyntax.TemplateExpr:
			e.countTemplate(x)
		case *hclsyntax.TemplateJoinExpr:
			e.countJoin(x)
		}
		return nil
	})
}

// countedCollection is the expression that a loop iterates over. Value counts the rounds of the loop before the loop
// begins. The embedded expression in parentheses lets hclsyntax.VisitAll and similar functions walk on into the original
// expression.
type countedCollection struct {
	*hclsyntax.ParenthesesExpr
	evaluator *Evaluator
}

// Value returns the value of the expression, or an error if the loops of the inventory would have too many rounds with
// this loop. After that, Value always returns the same error.
func (c *countedCollection) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if c.evaluator.tooManyRounds != nil {
		return cty.DynamicVal, hcl.Diagnostics{c.evaluator.tooManyRounds}
	}
	v, diags := c.Expression.Value(ctx)
	if diags.HasErrors() {
		return v, diags
	}
	if all, _ := v.Unmark(); all.IsKnown() && !all.IsNull() && all.CanIterateElements() {
		c.evaluator.rounds += all.LengthInt()
	}
	if c.evaluator.rounds <= c.evaluator.Bounds.Rounds {
		return v, diags
	}
	at := c.Range()
	c.evaluator.tooManyRounds = &hcl.Diagnostic{
		Severity: hcl.DiagError, Subject: &at,
		Summary: "too many rounds", Detail: fmt.Sprintf("the loops of the inventory go through more than %d values; use smaller lists", c.evaluator.Bounds.Rounds),
	}
	return cty.DynamicVal, append(diags, c.evaluator.tooManyRounds)
}
