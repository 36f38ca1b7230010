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
)

// outside is the value of a variable that comes from outside.
type outside struct {
	value cty.Value
	from  string
	at    *hcl.Range // in a file of variables
	used  bool
}

// readVarFiles collects the values in files of variables; the later file wins.
// Their lines are never shown: they are where secrets are.
func (l *loader) readVarFiles() error {
	l.outside = map[string]*outside{}
	for _, name := range l.src.VarFiles {
		l.secretive[l.real(name)] = true
		body, err := l.parse(name)
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
			l.diags = append(l.diags, friendlier(diags)...)
			l.outside[n] = &outside{value: v, from: l.real(name), at: &a.NameRange}
		}
	}
	return nil
}

// given are the values of variables from files and --var; the latter win.
func (l *loader) given() map[string]*outside {
	values := maps.Clone(l.outside)
	for _, v := range l.src.Vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			l.failNowhere("--var is not NAME=VALUE", "write --var commit=4d1f…")
			continue
		}
		values[name] = &outside{value: cty.StringVal(value), from: "--var"}
	}
	return values
}

// unused complains of values for variables that there are not.
func (l *loader) unused(given map[string]*outside) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if given[name].used || given[name].at == nil && slices.Contains(l.src.Others, name) {
			continue
		}
		summary := fmt.Sprintf("%s sets %q, which is no variable of the inventory", given[name].from, name)
		detail := fmt.Sprintf("add variable %q {} to it, or correct the name", name)
		if at := given[name].at; at != nil {
			l.fail(*at, fmt.Sprintf("no variable %q in the inventory", name), detail)
		} else {
			l.failNowhere(summary, detail)
		}
	}
}

// variable finds the value of one variable.
func (s *scope) variable(n *node, given map[string]*outside) {
	if !hclsyntax.ValidIdentifier(n.label) {
		s.l.fail(n.at, fmt.Sprintf("%q is no variable name", n.label), "letters, digits, _ and -, beginning with a letter")
		return
	}
	if _, twice := s.vars[n.label]; twice {
		s.l.fail(n.at, fmt.Sprintf("a second variable %q", n.label), "names are unique over all files")
		return
	}
	s.vars[n.label] = cty.DynamicVal
	if a := n.args["description"]; a != nil {
		s.l.constant(a)
	}
	typ, typed := s.typeOf(n)
	value, from, ok := s.valueFor(n, given)
	sensitive := s.l.constantBool(n.args["sensitive"])
	if sensitive && ok && value != cty.NilVal {
		s.l.hide(value) // before anything can complain of it
	}
	if !ok || !typed {
		return
	}
	if value == cty.NilVal {
		how := fmt.Sprintf("give one with --var %s=VALUE or HOLDFAST_VAR_%s, or write a default", n.label, n.label)
		if sensitive {
			how = fmt.Sprintf("give one with HOLDFAST_VAR_%s, or in a file with --var-file: on a command line everybody on this machine can read it", n.label)
		}
		s.l.fail(n.at, fmt.Sprintf("variable %q has no value", n.label), how)
		return
	}
	converted, err := convert.Convert(value, typ)
	if err != nil {
		s.l.fail(n.at, fmt.Sprintf("variable %q: the value from %s is not a %s", n.label, from, typeName(typ)), advice(typ))
		return
	}
	if sensitive {
		s.l.hide(converted)
		converted = converted.Mark(secret)
	}
	s.vars[n.label] = converted
}

// typeOf is the type a variable declares, else that of its default.
func (s *scope) typeOf(n *node) (cty.Type, bool) {
	if a := n.args["type"]; a != nil {
		types := map[string]cty.Type{"string": cty.String, "number": cty.Number, "bool": cty.Bool}
		name, ok := s.l.constant(a)
		if !ok {
			return cty.NilType, false
		}
		typ, ok := types[name]
		if !ok {
			s.l.fail(a.Expr.Range(), fmt.Sprintf("no type %q", name), `there are "string", "number" and "bool"`)
		}
		return typ, ok
	}
	if a := n.args["default"]; a != nil {
		v, diags := a.Expr.Value(&hcl.EvalContext{Functions: s.l.functions(a.SrcRange)})
		return v.Type(), !diags.HasErrors()
	}
	return cty.DynamicPseudoType, true
}

// valueFor picks the value of a variable: --var, then a file, then the
// environment, then its default. A default is evaluated in any case, so that
// its mistakes show.
func (s *scope) valueFor(n *node, given map[string]*outside) (cty.Value, string, bool) {
	def := cty.NilVal
	ok := true
	if a := n.args["default"]; a != nil {
		def, ok = s.evaluate(a.Expr, &hcl.EvalContext{Functions: s.l.functions(a.SrcRange)})
	}
	if g := given[n.label]; g != nil {
		g.used = true
		return g.value, g.from, ok
	}
	if v, set := s.l.src.Env("HOLDFAST_VAR_" + n.label); set {
		return cty.StringVal(v), "HOLDFAST_VAR_" + n.label, ok
	}
	return def, "its default", ok
}

// constant reads an argument that must not depend on anything.
func (l *loader) constant(a *hclsyntax.Attribute) (string, bool) {
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String || v.IsNull() {
		l.fail(a.Expr.Range(), a.Name+" is not a plain string", "write it in quotes; it cannot refer to anything")
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
		l.fail(a.Expr.Range(), a.Name+" is not true or false", "write one of them; it cannot refer to anything")
		return false
	}
	return v.True()
}
