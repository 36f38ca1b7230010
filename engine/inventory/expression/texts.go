package expression

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// countTemplate makes the evaluator count the bytes of the results of a template. Each result is a copy of its parts.
func (e *Evaluator) countTemplate(t *hclsyntax.TemplateExpr) {
	text, first := &countedText{evaluator: e, literals: literalBytes(t)}, true
	wrap := func(i int) {
		t.Parts[i] = &countedPart{ParenthesesExpr: parenthesizeExpression(t.Parts[i]), text: text, isFirst: first}
		first = false
	}
	for i, part := range t.Parts {
		if _, isLiteral := part.(*hclsyntax.LiteralValueExpr); !isLiteral {
			wrap(i)
		}
	}
	if first && text.literals > shortText {
		wrap(0)
	}
}

// shortText is the largest size, in bytes, of a text without other parts that is not counted. It is as cheap as the value
// that it is a part of, and most texts of an inventory are short.
const shortText = 64

func literalBytes(t *hclsyntax.TemplateExpr) int {
	bytes := 0
	for _, part := range t.Parts {
		if literal, ok := part.(*hclsyntax.LiteralValueExpr); ok {
			bytes += textBytes(literal.Val)
		}
	}
	return bytes
}

func (e *Evaluator) countJoin(j *hclsyntax.TemplateJoinExpr) {
	j.Tuple = &countedPart{ParenthesesExpr: parenthesizeExpression(j.Tuple), text: &countedText{evaluator: e}, isFirst: true}
}

func parenthesizeExpression(x hclsyntax.Expression) *hclsyntax.ParenthesesExpr {
	return &hclsyntax.ParenthesesExpr{Expression: x, SrcRange: x.Range()}
}

// countedText counts the bytes of one template.
type countedText struct {
	evaluator *Evaluator
	literals  int // bytes of its literal parts
	bytes     int // of the present result so far
}

// countedPart is a part of a template, as countedCollection is the collection of a loop.
type countedPart struct {
	*hclsyntax.ParenthesesExpr
	text    *countedText
	isFirst bool
}

// Value returns the value of the part, or an error if the text of its template, or all texts and results of functions
// together, would be too long with it. After the latter, only the first part of each template returns the error: there may
// be millions of parts.
func (c *countedPart) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	e := c.text.evaluator
	switch {
	case e.tooMuchText != nil && c.isFirst:
		return cty.DynamicVal, hcl.Diagnostics{e.tooMuchText}
	case e.tooMuchText != nil:
		return cty.DynamicVal, nil
	}
	v, diags := c.Expression.Value(ctx)
	if diags.HasErrors() {
		return v, diags
	}
	bytes := 0
	if _, isLiteral := c.Expression.(*hclsyntax.LiteralValueExpr); !isLiteral {
		bytes = textBytes(v)
	}
	if c.isFirst {
		c.text.bytes = 0
		bytes += c.text.literals
	}
	c.text.bytes, e.resultBytes = c.text.bytes+bytes, e.resultBytes+bytes
	at := c.Range()
	tooLong := &hcl.Diagnostic{Severity: hcl.DiagError, Subject: &at, Summary: "the text is too long"}
	err := e.checkResultBytes()
	switch {
	case err != nil:
		tooLong.Detail = err.Error()
		e.tooMuchText = tooLong
	case c.text.bytes > maxValueBytes:
		tooLong.Detail = fmt.Sprintf("a text may have %d MiB; repeat less", maxValueBytes>>20)
	default:
		return v, diags
	}
	return cty.DynamicVal, append(diags, tooLong)
}

// textBytes returns the bytes that a part adds to a template: those of a text, or of a tuple of texts.
func textBytes(v cty.Value) int {
	v, _ = v.Unmark()
	switch {
	case !v.IsKnown() || v.IsNull():
	case v.Type() == cty.String:
		return len(v.AsString())
	case v.Type().IsTupleType():
		bytes := 0
		for it := v.ElementIterator(); it.Next(); {
			if _, element := it.Element(); !element.Type().IsTupleType() {
				bytes += textBytes(element)
			}
		}
		return bytes
	}
	return 0
}
