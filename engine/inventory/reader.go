package inventory

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"holdfast/engine"
)

// sensitiveArguments may contain sensitive values. Output shows commands only redacted, and never shows documents.
var sensitiveArguments = []string{"command", "undo", "become_password_command", "password_command", "on", "off", "status", "content"}

// reader evaluates the arguments of one block. For a wrong argument, its methods add an error and return the zero
// value.
type reader struct {
	scope *scope
	node  *node
	id    string // of a host in a range
}

func (r reader) evaluateArgument(name string, want cty.Type) (cty.Value, hcl.Range, bool) {
	a := r.node.args[name]
	if a == nil {
		return cty.NilVal, hcl.Range{}, false
	}
	at, ctx := a.Expr.Range(), r.scope.evalContext(a.SrcRange, r.id)
	v, ok := r.scope.evaluate(a.Expr, ctx)
	if !ok || !v.IsWhollyKnown() {
		return cty.NilVal, at, false
	}
	if v.ContainsMarked() {
		if !slices.Contains(sensitiveArguments, name) {
			r.scope.loader.addError(at, name+" would show a sensitive value", "sensitive values can only be used in "+strings.Join(sensitiveArguments, ", "))
			return cty.NilVal, at, false
		}
		if _, text := a.Expr.(*hclsyntax.TemplateExpr); text || name != "content" {
			r.scope.loader.values.RecordSensitiveParts(a.Expr, ctx) // except for a whole document, which is never shown
		}
	}
	v, _ = v.UnmarkDeep()
	if v.IsNull() {
		if arg, _ := r.node.kind.findArgument(name); arg.required {
			r.scope.loader.addError(at, fmt.Sprintf("%s has no %s", r.node.kind.name, name), "it is null here; give it a value: "+arg.meaning)
		}
		return cty.NilVal, at, false
	}
	converted, err := convert.Convert(v, want)
	if err != nil {
		r.scope.loader.addError(at, fmt.Sprintf("%s is not a %s", name, typeName(want)), valueAdvice(want))
		return cty.NilVal, at, false
	}
	return converted, at, true
}

func (r reader) hasValue(name string) bool {
	a := r.node.args[name]
	if a == nil {
		return false
	}
	v, diags := a.Expr.Value(r.scope.evalContext(a.SrcRange, r.id))
	return diags.HasErrors() || !v.IsNull()
}

// isWrong reports whether one of the arguments has an error, or an unknown value because of another error. An error about its
// value would be a second one for the same mistake.
func (r reader) isWrong(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		a := r.node.args[name]
		if a == nil {
			return false
		}
		v, diags := a.Expr.Value(r.scope.evalContext(a.SrcRange, r.id))
		return diags.HasErrors() || !v.IsWhollyKnown() || r.scope.loader.hasErrorAt(a.Expr.Range())
	})
}

func typeName(t cty.Type) string {
	if t.IsListType() {
		return "list of strings"
	}
	return t.FriendlyName()
}

func valueAdvice(t cty.Type) string {
	switch {
	case t == cty.String:
		return "write text in quotes"
	case t == cty.Number:
		return "write a number, without quotes"
	case t == cty.Bool:
		return "write true or false, without quotes"
	case t.IsListType():
		return `write ["one", "two"]`
	}
	return "it must be of the type of its default"
}

// multilineArguments are the arguments whose text may have several lines.
var multilineArguments = []string{"command", "undo", "content", "host_command", "version_command", "query"}

func (r reader) readText(name string) string {
	v, at, ok := r.evaluateArgument(name, cty.String)
	if !ok {
		return ""
	}
	s := v.AsString()
	if s == "" {
		r.scope.loader.addError(at, name+" is empty", "give a value or leave it out")
	}
	if strings.ContainsAny(s, "\x00\n\r") && !slices.Contains(multilineArguments, name) {
		r.scope.loader.addError(at, name+" contains a line break or a NUL", "remove it; chomp() removes the line break at the end of a file")
	}
	return s
}

func (r reader) readTexts(name string) []string {
	v, at, ok := r.evaluateArgument(name, cty.List(cty.String))
	if !ok {
		return nil
	}
	switch arg, _ := r.node.kind.findArgument(name); {
	case v.LengthInt() > 0:
	case arg.required:
		r.scope.loader.addError(at, name+" is empty", "give it a value: "+arg.meaning)
	case arg.filled:
		r.scope.loader.addError(at, name+" is empty", "give it a value, or leave it out for "+arg.fallback)
	}
	var out []string
	for _, e := range v.AsValueSlice() {
		if e.IsNull() || e.AsString() == "" {
			r.scope.loader.addError(at, name+" has an empty element", "remove it, or give it a value")
			continue
		}
		out = append(out, e.AsString())
	}
	return out
}

func (r reader) readOneOrMore(name string) []string {
	a := r.node.args[name]
	if a == nil {
		return nil
	}
	v, diags := a.Expr.Value(r.scope.evalContext(a.SrcRange, r.id))
	if !diags.HasErrors() && v.IsKnown() && !v.IsNull() && v.Type() == cty.String {
		if s := r.readText(name); s != "" {
			return []string{s}
		}
		return nil
	}
	return r.readTexts(name)
}

func (r reader) readPaths(name string) []string {
	var out []string
	for _, p := range r.readOneOrMore(name) {
		out = append(out, r.scope.loader.values.AbsolutePath(p, r.node.args[name].SrcRange))
	}
	return out
}

func (r reader) readPath(name string) string {
	if p := r.readText(name); p != "" {
		return r.scope.loader.values.AbsolutePath(p, r.node.args[name].SrcRange)
	}
	return ""
}

func (r reader) readBool(name string, fallback bool) bool {
	v, _, ok := r.evaluateArgument(name, cty.Bool)
	if !ok {
		return fallback
	}
	return v.True()
}

func (r reader) readPort(name string, fallback int) int {
	if n, ok := r.readWholeNumber(name, "a port", 1, 65535); ok {
		return n
	}
	return fallback
}

// readWholeNumber reads a number between least and most. It returns false if the number is missing or wrong. Errors
// call the number noun, such as "a port".
func (r reader) readWholeNumber(name, noun string, least, most int64) (int, bool) {
	v, at, ok := r.evaluateArgument(name, cty.Number)
	if !ok {
		return 0, false
	}
	n, accuracy := v.AsBigFloat().Int64()
	if accuracy != big.Exact || n < least || n > most {
		r.scope.loader.addError(at, name+" is not "+noun, fmt.Sprintf("a whole number between %d and %d is needed", least, most))
		return 0, false
	}
	return int(n), true
}

func (r reader) readDuration(name string) engine.Duration {
	v, at, ok := r.evaluateArgument(name, cty.String)
	if !ok {
		return 0
	}
	d, err := engine.ParseDuration(v.AsString())
	if err != nil || d <= 0 {
		r.scope.loader.addError(at, name+" is not a duration", "write a number and a unit, such as \"90s\", \"10m\", \"1h30m\" or \"4d\"; it must be more than zero")
		return 0
	}
	return d
}

// readSize reads a size in bytes. It returns -1 for an explicit 0.
func (r reader) readSize(name string) int64 {
	v, at, ok := r.evaluateArgument(name, cty.String)
	if !ok {
		return 0
	}
	n, err := parseSize(v.AsString())
	if err != nil {
		r.scope.loader.addError(at, name+" is not a size", err.Error())
		return 0
	}
	if n == 0 {
		return -1
	}
	return n
}

func parseSize(s string) (int64, error) {
	units := map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
	digits := strings.TrimRight(s, "BKMGTi")
	unit, ok := units[s[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 0 || n > 1<<50/unit {
		return 0, fmt.Errorf("%q: write bytes, or a number and a unit: \"500MiB\", \"2GiB\"", s)
	}
	return n * unit, nil
}

// maxCount bounds a count of hosts: a larger number is likely a typing error.
const maxCount = 1 << 20

// readCountOrPercent takes a number for a count and a string for a percentage, so nobody confuses the two.
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
