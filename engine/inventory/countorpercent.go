package inventory

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"holdfast/engine"
)

// maxCount bounds a count of hosts, against a slip of the keyboard.
const maxCount = 1 << 20

// readCountOrPercent reads a count of hosts, which is at least that many, or a percentage.
// A count is a number and a percentage is text, so that neither can be meant as
// the other.
func (r reader) readCountOrPercent(name string, least int64) engine.Limit {
	a := r.node.args[name]
	if a == nil {
		return engine.Limit{}
	}
	v, diags := a.Expr.Value(r.scope.evalContext(a.SrcRange, r.id))
	if !diags.HasErrors() && v.Type() == cty.String && v.IsWhollyKnown() && !v.IsNull() && !v.IsMarked() {
		return r.parsePercentage(name, v.AsString(), least)
	}
	n, at, ok := r.evaluateArgument(name, cty.Number)
	if !ok {
		return engine.Limit{}
	}
	count, accuracy := n.AsBigFloat().Int64()
	if accuracy != big.Exact || count < least || count > maxCount {
		r.scope.loader.addError(at, name+" is not a limit", fmt.Sprintf("a whole number from %d, or a percentage such as \"10%%\", is needed", least))
		return engine.Limit{}
	}
	return engine.Limit{Count: int(count), Set: true}
}

// parsePercentage reads text such as "10%". What is likely meant by another is told.
func (r reader) parsePercentage(name, text string, least int64) engine.Limit {
	l, err := engine.ParseLimit(text)
	if err == nil {
		return l
	}
	advice := err.Error()
	if tight := strings.Join(strings.Fields(text), ""); tight != text {
		if _, err := engine.ParseLimit(tight); err == nil {
			advice += fmt.Sprintf("; write %q", tight)
		}
	}
	if text == "0%" && least == 0 {
		advice += "; for none, write 0 without quotes"
	}
	r.scope.loader.addError(r.node.args[name].Expr.Range(), name+" is not a limit", advice)
	return engine.Limit{}
}
