package inventory

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"holdfast/engine"
)

// maxCount bounds a count of hosts: a larger number is likely a typing error.
const maxCount = 1 << 20

// readCountOrPercent reads a count of hosts from minimum on, or a percentage. A count is a number and a percentage a
// string, so that neither can be taken for the other.
func (r reader) readCountOrPercent(name string, minimum int64) engine.CountOrPercent {
	a := r.node.args[name]
	if a == nil {
		return engine.CountOrPercent{}
	}
	v, diags := a.Expr.Value(r.scope.evalContext(a.SrcRange, r.id))
	if !diags.HasErrors() && v.Type() == cty.String && v.IsWhollyKnown() && !v.IsNull() && !v.IsMarked() {
		return r.parsePercentage(name, v.AsString(), minimum)
	}
	n, at, ok := r.evaluateArgument(name, cty.Number)
	if !ok {
		return engine.CountOrPercent{}
	}
	count, accuracy := n.AsBigFloat().Int64()
	if accuracy != big.Exact || count < minimum || count > maxCount {
		r.scope.loader.addError(at, name+" is not a count or a percentage", fmt.Sprintf("write a whole number from %d, or a percentage such as \"10%%\"", minimum))
		return engine.CountOrPercent{}
	}
	return engine.CountOrPercent{Count: int(count), Set: true}
}

func (r reader) parsePercentage(name, text string, minimum int64) engine.CountOrPercent {
	l, err := engine.ParseCountOrPercent(text)
	if err == nil {
		return l
	}
	advice := err.Error()
	if tight := strings.Join(strings.Fields(text), ""); tight != text {
		if _, err := engine.ParseCountOrPercent(tight); err == nil {
			advice += fmt.Sprintf("; write %q", tight)
		}
	}
	if text == "0%" && minimum == 0 {
		advice += "; for none, write 0 without quotes"
	}
	r.scope.loader.addError(r.node.args[name].Expr.Range(), name+" is not a count or a percentage", advice)
	return engine.CountOrPercent{}
}
