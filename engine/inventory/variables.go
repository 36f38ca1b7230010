package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"holdfast/engine/inventory/expression"
)

// outsideValue is the value of a variable from --var or a variable file.
type outsideValue struct {
	value cty.Value
	from  string
	at    *hcl.Range // place in a variable file; nil: from --var
	used  bool
}

// readVarFiles lets later files win. Output never shows their lines, because they may hold secrets.
func (l *loader) readVarFiles() error {
	l.outsideValues = map[string]*outsideValue{}
	for _, name := range l.src.VarFiles {
		l.hiddenFiles[l.displayPath(name)] = true
		body, err := l.parseFile(name)
		if err != nil {
			return fmt.Errorf("read variables: %w", err)
		}
		if body == nil {
			continue
		}
		attrs, diags := body.JustAttributes()
		l.diags = append(l.diags, diags...)
		for n, a := range attrs {
			v, diags := a.Expr.Value(nil)
			l.diags = append(l.diags, addAdvice(diags)...)
			l.outsideValues[n] = &outsideValue{value: v, from: l.displayPath(name), at: &a.NameRange}
		}
	}
	return nil
}

func (l *loader) givenValues() map[string]*outsideValue {
	values := maps.Clone(l.outsideValues)
	for _, v := range l.src.Vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			l.addGlobalError("--var is not NAME=VALUE", "write --var commit=4d1f…")
			continue
		}
		values[name] = &outsideValue{value: cty.StringVal(value), from: "--var"}
	}
	return values
}

func (l *loader) reportUnusedValues(given map[string]*outsideValue) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if given[name].used || given[name].at == nil && slices.Contains(l.src.Others, name) {
			continue
		}
		summary := fmt.Sprintf("%s sets %q, which is not a variable of the inventory", given[name].from, name)
		detail := fmt.Sprintf("add variable %q {} to the inventory, or correct the name", name)
		if at := given[name].at; at != nil {
			l.addError(*at, fmt.Sprintf("no variable %q in the inventory", name), detail)
		} else {
			l.addGlobalError(summary, detail)
		}
	}
}

// unnormalizedAdvice belongs to names that are not normalized. The library of
// expressions normalizes names, so that two of them could become one.
const unnormalizedAdvice = "type the letter and its accent as one character"

func (s *scope) evaluateVariable(n *node, given map[string]*outsideValue) {
	if !hclsyntax.ValidIdentifier(n.label) {
		s.loader.addError(n.at, fmt.Sprintf("%q is not a valid variable name", n.label), "use letters, digits, _ and -, beginning with a letter")
		return
	}
	if cty.NormalizeString(n.label) != n.label {
		s.loader.addError(n.at, fmt.Sprintf("variable %q has an accent as a character of its own", n.label), unnormalizedAdvice)
		return
	}
	if _, twice := s.vars[n.label]; twice {
		s.loader.addError(n.at, fmt.Sprintf("a second variable %q", n.label), "names must be unique in all files")
		return
	}
	s.vars[n.label] = cty.DynamicVal // unknown until it is evaluated, so that an error here causes no others
	if a := n.args["description"]; a != nil {
		s.loader.constantString(a)
	}
	typ, typed := s.typeOf(n)
	value, from, ok := s.valueFor(n, given)
	sensitive := s.loader.constantBool(n.args["sensitive"])
	if sensitive && ok && value != cty.NilVal {
		s.loader.values.RecordSensitive(value) // before any error can quote it
	}
	if !ok || !typed {
		return
	}
	if value == cty.NilVal {
		how := fmt.Sprintf("give one with --var %s=VALUE or HOLDFAST_VAR_%s, or write a default", n.label, n.label)
		if sensitive {
			how = fmt.Sprintf("give one with HOLDFAST_VAR_%s, or in a file with --var-file: on a command line everybody on this machine can read it", n.label)
		}
		s.loader.addError(n.at, fmt.Sprintf("variable %q has no value", n.label), how)
		return
	}
	converted, err := convert.Convert(value, typ)
	if err != nil {
		s.loader.addError(n.at, fmt.Sprintf("variable %q: the value from %s is not a %s", n.label, from, typeName(typ)), valueAdvice(typ))
		return
	}
	if sensitive {
		s.loader.values.RecordSensitive(converted)
		converted = expression.MarkSensitive(converted)
	}
	s.vars[n.label] = converted
}

func (s *scope) typeOf(n *node) (cty.Type, bool) {
	if a := n.args["type"]; a != nil {
		types := map[string]cty.Type{"string": cty.String, "number": cty.Number, "bool": cty.Bool}
		name, ok := s.loader.constantString(a)
		if !ok {
			return cty.NilType, false
		}
		typ, ok := types[name]
		if !ok {
			s.loader.addError(a.Expr.Range(), fmt.Sprintf(`type must be "string", "number" or "bool", not %q`, name), "")
		}
		return typ, ok
	}
	if a := n.args["default"]; a != nil {
		v, diags := a.Expr.Value(&hcl.EvalContext{Functions: s.loader.values.Functions(a.SrcRange)})
		return v.Type(), !diags.HasErrors()
	}
	return cty.DynamicPseudoType, true
}

// valueFor returns the value of a variable: from --var, a file, the environment or its default, in this order. A
// default is always evaluated, so that its errors show.
func (s *scope) valueFor(n *node, given map[string]*outsideValue) (cty.Value, string, bool) {
	def := cty.NilVal
	ok := true
	if a := n.args["default"]; a != nil {
		def, ok = s.evaluate(a.Expr, &hcl.EvalContext{Functions: s.loader.values.Functions(a.SrcRange)})
	}
	if g := given[n.label]; g != nil {
		g.used = true
		return g.value, g.from, ok
	}
	if v, set := s.loader.src.Env("HOLDFAST_VAR_" + n.label); set {
		return cty.StringVal(v), "HOLDFAST_VAR_" + n.label, ok
	}
	return def, "its default", ok
}

func (l *loader) constantString(a *hclsyntax.Attribute) (string, bool) {
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String || v.IsNull() {
		l.addError(a.Expr.Range(), a.Name+" is not a plain string", "write it in quotes; it cannot refer to anything")
		return "", false
	}
	return v.AsString(), true
}

func (l *loader) constantBool(a *hclsyntax.Attribute) bool {
	if a == nil {
		return false
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() || v.Type() != cty.Bool || v.IsNull() {
		l.addError(a.Expr.Range(), a.Name+" is not true or false", "write one of them; it cannot refer to anything")
		return false
	}
	return v.True()
}
