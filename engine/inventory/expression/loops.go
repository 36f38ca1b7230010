package expression

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// CountRounds makes the evaluator count the rounds of all loops in parsed HCL. A few nested loops could run for days.
func (e *Evaluator) CountRounds(parsed hclsyntax.Node) {
	_ = hclsyntax.VisitAll(parsed, func(n hclsyntax.Node) hcl.Diagnostics {
		if loop, ok := n.(*hclsyntax.ForExpr); ok {
			loop.CollExpr = &countedCollection{ParenthesesExpr: &hclsyntax.ParenthesesExpr{Expression: loop.CollExpr, SrcRange: loop.CollExpr.Range()}, evaluator: e}
		}
		return nil
	})
}

// countedCollection is the expression that a loop iterates over. Value counts the rounds of the loop before the loop
// begins. To functions that walk expressions, it is an expression in parentheses.
type countedCollection struct {
	*hclsyntax.ParenthesesExpr
	evaluator *Evaluator
}

// Value returns the value of the expression. Once the loops of the inventory have had too many rounds, Value always
// returns the same error.
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
