package inventory

import (
	"fmt"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// secret marks values that must never be shown.
const secret = "sensitive"

// scope evaluates expressions of an inventory.
type scope struct {
	l    *loader
	vars map[string]cty.Value
	lets map[string]cty.Value

	contexts map[string]*hcl.EvalContext // by file, once all values are known
}

// newScope evaluates variables and locals.
func (l *loader) newScope(root *node) *scope {
	s := &scope{l: l, vars: map[string]cty.Value{}, lets: map[string]cty.Value{}}
	given := l.given()
	for _, n := range root.all("variable") {
		s.variable(n, given)
	}
	l.unused(given)
	s.locals(root.all("locals"))
	s.contexts = map[string]*hcl.EvalContext{}
	return s
}

// given collects the values of variables from outside: the environment, then
// files, then --var; the later ones win.
func (l *loader) given() map[string]outside {
	values := map[string]outside{}
	for _, name := range l.src.VarFiles {
		l.varFile(name, values)
	}
	for _, v := range l.src.Vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "--var is not NAME=VALUE", Detail: "it has no ="})
			continue
		}
		values[name] = outside{value: cty.StringVal(value), from: "--var"}
	}
	return values
}

// outside is the value of a variable that comes from outside.
type outside struct {
	value cty.Value
	from  string
	used  bool
}

func (l *loader) varFile(name string, values map[string]outside) {
	shown := l.real(name)
	if err := l.parse(name); err != nil {
		l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: err.Error()})
		return
	}
	body, ok := l.files[shown].Body.(*hclsyntax.Body)
	if !ok {
		return
	}
	for i := range l.bodies { // it is no part of the inventory itself
		if l.bodies[i] == body {
			l.bodies = append(l.bodies[:i], l.bodies[i+1:]...)
			break
		}
	}
	attrs, diags := body.JustAttributes()
	l.diags = append(l.diags, diags...)
	for n, a := range attrs {
		v, diags := a.Expr.Value(nil)
		l.diags = append(l.diags, diags...)
		values[n] = outside{value: v, from: shown}
	}
}

func (l *loader) unused(given map[string]outside) {
	var names []string
	for name, g := range given {
		if !g.used {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		l.diags = append(l.diags, &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: fmt.Sprintf("%s sets %q, which is no variable of the inventory", given[name].from, name),
			Detail: fmt.Sprintf("add variable %q { } to it, or correct the name", name),
		})
	}
}

// variable finds the value of one variable.
func (s *scope) variable(n *node, given map[string]outside) {
	if _, twice := s.vars[n.label]; twice {
		s.l.fail(n.at, fmt.Sprintf("a second variable %q", n.label), "names are unique over all files")
		return
	}
	s.vars[n.label] = cty.DynamicVal
	def, typ := cty.NilVal, cty.DynamicPseudoType
	if a := n.args["default"]; a != nil {
		v, diags := a.Expr.Value(&hcl.EvalContext{Functions: s.l.functions(a.SrcRange)})
		s.l.diags = append(s.l.diags, diags...)
		if diags.HasErrors() {
			return
		}
		def, typ = v, v.Type()
	}
	if t := s.l.constant(n.args["type"]); t != "" {
		types := map[string]cty.Type{"string": cty.String, "number": cty.Number, "bool": cty.Bool}
		found, ok := types[t]
		if !ok {
			s.l.fail(n.args["type"].Expr.Range(), fmt.Sprintf("no type %q", t), "there are \"string\", \"number\" and \"bool\"")
			return
		}
		typ = found
	}
	value, from := s.l.valueFor(n.label, def, given)
	if value == cty.NilVal {
		s.l.fail(n.at, fmt.Sprintf("variable %q has no value", n.label), fmt.Sprintf("give one with --var %s=VALUE or HOLDFAST_VAR_%s, or write a default", n.label, n.label))
		return
	}
	sensitive := s.l.constantBool(n.args["sensitive"])
	converted, err := convert.Convert(value, typ)
	if err != nil {
		s.l.fail(n.at, fmt.Sprintf("variable %q: the value from %s is not a %s", n.label, from, typ.FriendlyName()), "")
		return
	}
	if sensitive {
		s.l.hide(converted)
		converted = converted.Mark(secret)
	}
	s.vars[n.label] = converted
}

// valueFor picks the value of a variable: --var, then a file, then the
// environment, then its default.
func (l *loader) valueFor(name string, def cty.Value, given map[string]outside) (cty.Value, string) {
	if g, ok := given[name]; ok {
		g.used = true
		given[name] = g
		return g.value, g.from
	}
	if v, ok := l.src.Env("HOLDFAST_VAR_" + name); ok {
		return cty.StringVal(v), "HOLDFAST_VAR_" + name
	}
	return def, "its default"
}

// hide notes the text of a sensitive value, so that output can be redacted.
func (l *loader) hide(v cty.Value) {
	v, _ = v.UnmarkDeep()
	_ = cty.Walk(v, func(_ cty.Path, part cty.Value) (bool, error) {
		if part.Type() == cty.String && part.IsKnown() && !part.IsNull() && part.AsString() != "" {
			l.sensitive = append(l.sensitive, part.AsString())
		}
		return true, nil
	})
}

// constant reads an argument that must not depend on anything.
func (l *loader) constant(a *hclsyntax.Attribute) string {
	if a == nil {
		return ""
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String || v.IsNull() {
		l.fail(a.Expr.Range(), a.Name+" is not a plain string", "it cannot refer to anything")
		return ""
	}
	return v.AsString()
}

func (l *loader) constantBool(a *hclsyntax.Attribute) bool {
	if a == nil {
		return false
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() || v.Type() != cty.Bool || v.IsNull() {
		l.fail(a.Expr.Range(), a.Name+" is not true or false", "it cannot refer to anything")
		return false
	}
	return v.True()
}

// context is what expressions of a file may refer to; ${id} where it is given.
func (s *scope) context(at hcl.Range, id string) *hcl.EvalContext {
	ctx := s.contexts[at.Filename]
	if ctx == nil {
		ctx = &hcl.EvalContext{
			Variables: map[string]cty.Value{"var": cty.ObjectVal(s.vars), "local": cty.ObjectVal(s.lets)},
			Functions: s.l.functions(at),
		}
		if s.contexts != nil {
			s.contexts[at.Filename] = ctx
		}
	}
	if id == "" {
		return ctx
	}
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{"id": cty.StringVal(id)}
	return child
}
