package inventory

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"holdfast/engine/inventory/expression"
	"holdfast/engine/textutil"
)

// scope evaluates the expressions of an inventory.
type scope struct {
	loader *loader
	vars   map[string]cty.Value
	locals map[string]cty.Value

	contexts map[string]*hcl.EvalContext // by file, once all values are known
	ofHost   *hcl.EvalContext            // the last one with ${id}: all arguments of a host share it
	hostID   string                      // its ${id}
}

func (l *loader) newScope(root *node) *scope {
	s := &scope{loader: l, vars: map[string]cty.Value{}, locals: map[string]cty.Value{}}
	given := l.givenValues()
	for _, n := range root.childBlocks("variable") {
		s.evaluateVariable(n, given)
	}
	l.reportUnusedValues(given)
	s.evaluateLocals(root.childBlocks("locals"))
	s.contexts = map[string]*hcl.EvalContext{}
	return s
}

// evalContext returns the variables and functions that expressions of a file may use. ${id} is set if id is.
func (s *scope) evalContext(at hcl.Range, id string) *hcl.EvalContext {
	ctx := s.contexts[at.Filename]
	if ctx == nil {
		ctx = &hcl.EvalContext{
			Variables: map[string]cty.Value{"var": cty.ObjectVal(s.vars), "local": cty.ObjectVal(s.locals)},
			Functions: s.loader.values.Functions(at),
		}
		if s.contexts != nil {
			s.contexts[at.Filename] = ctx
		}
	}
	if id == "" {
		return ctx
	}
	if s.ofHost == nil || s.hostID != id || s.ofHost.Parent() != ctx {
		s.ofHost, s.hostID = ctx.NewChild(), id
		s.ofHost.Variables = map[string]cty.Value{"id": cty.StringVal(id)}
	}
	return s.ofHost
}

// evaluate returns the value of an expression. For an expression without a value it adds errors and returns false.
func (s *scope) evaluate(e hcl.Expression, ctx *hcl.EvalContext) (cty.Value, bool) {
	v, diags := e.Value(ctx)
	s.loader.diags = append(s.loader.diags, s.explainErrors(dropRepeated(diags))...)
	return v, !diags.HasErrors()
}

func dropRepeated(diags hcl.Diagnostics) hcl.Diagnostics {
	type complaint struct{ at, summary, detail string }
	reported := map[complaint]bool{}
	return slices.DeleteFunc(diags, func(d *hcl.Diagnostic) bool {
		c := complaint{summary: d.Summary, detail: d.Detail}
		if d.Subject != nil {
			c.at = d.Subject.String()
		}
		again := reported[c]
		reported[c] = true
		return again
	})
}

// explainErrors rewords the evaluator's errors for authors of inventories, and removes sensitive values.
func (s *scope) explainErrors(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range addAdvice(diags) {
		expression.HideDetail(d)
		e, ok := d.Expression.(interface{ Variables() []hcl.Traversal })
		if !ok || len(e.Variables()) != 1 {
			continue
		}
		t := e.Variables()[0]
		switch d.Summary {
		case "Unsupported attribute":
			s.explainMissing(d, t)
		case "Unknown variable":
			d.Summary = fmt.Sprintf("unknown word %q", t.RootName())
			d.Detail = "write text in quotes; variables are var.NAME, locals are local.NAME"
			if name := t.RootName(); name == strings.ToUpper(name) {
				d.Detail = "write a variable of a shell as $" + name + " or $${" + name + "}; variables of the inventory are var.NAME, locals are local.NAME"
			}
			if t.RootName() == "id" {
				d.Detail = "id is the number of a host in a range; use it only in a hosts block"
			}
		}
	}
	return diags
}

func (s *scope) explainMissing(d *hcl.Diagnostic, t hcl.Traversal) {
	if len(t) < 2 {
		return
	}
	step, ok := t[1].(hcl.TraverseAttr)
	if !ok {
		return
	}
	values, what, add := s.vars, "variable", `add variable "`+step.Name+`" {}`
	switch t.RootName() {
	case "var":
	case "local":
		values, what, add = s.locals, "local", "add "+step.Name+" = … to a locals block"
	default:
		return
	}
	if _, known := values[step.Name]; known {
		return // only a part of the value is missing
	}
	d.Summary, d.Detail = fmt.Sprintf("no %s %q", what, step.Name), add
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	if near := textutil.Nearest(step.Name, names); near != "" {
		d.Detail = "did you mean " + t.RootName() + "." + near + "?"
	}
}

func (s *scope) evaluateLocals(nodes []*node) {
	waiting := map[string]*hclsyntax.Attribute{}
	for _, n := range nodes {
		for name, a := range n.args {
			if cty.NormalizeString(name) != name {
				s.loader.addError(a.NameRange, fmt.Sprintf("local %q has an accent as a character of its own", name), unnormalizedAdvice)
				continue
			}
			if _, twice := waiting[name]; twice {
				s.loader.addError(a.NameRange, fmt.Sprintf("a second local %q", name), "names must be unique in all files")
				continue
			}
			waiting[name] = a
		}
	}
	for len(waiting) > 0 {
		ready := readyLocals(waiting)
		if len(ready) == 0 {
			s.reportCycle(waiting)
			return
		}
		for _, name := range ready {
			a := waiting[name]
			v, ok := s.evaluate(a.Expr, s.evalContext(a.SrcRange, ""))
			if err := expression.CheckLocalSize(v); ok && err != nil {
				s.loader.addError(a.SrcRange, fmt.Sprintf("local %q is too large", a.Name), err.Error())
				ok = false
			}
			if !ok {
				v = cty.DynamicVal
			}
			s.locals[name] = v
			delete(waiting, name)
		}
	}
}

func readyLocals(waiting map[string]*hclsyntax.Attribute) []string {
	var ready []string
	for name, a := range waiting {
		if len(referencedLocals(a.Expr, waiting)) == 0 {
			ready = append(ready, name)
		}
	}
	sort.Strings(ready)
	return ready
}

// referencedLocals returns the locals of a set that an expression refers to. An expression that uses local as a whole
// refers to all of them.
func referencedLocals(e hcl.Expression, set map[string]*hclsyntax.Attribute) []string {
	var names []string
	for _, t := range e.Variables() {
		if t.RootName() != "local" {
			continue
		}
		if name, one := localName(t); !one {
			names = append(names, slices.Sorted(maps.Keys(set))...)
		} else if _, waiting := set[name]; waiting {
			names = append(names, name)
		}
	}
	return names
}

func localName(t hcl.Traversal) (string, bool) {
	if len(t) < 2 {
		return "", false
	}
	switch step := t[1].(type) {
	case hcl.TraverseAttr:
		return step.Name, true
	case hcl.TraverseIndex:
		if step.Key.Type() == cty.String {
			return step.Key.AsString(), true
		}
	}
	return "", false
}

// reportCycle adds an error for locals that refer to each other. Each local in waiting refers to another local in
// waiting, so the references form at least one cycle.
func (s *scope) reportCycle(waiting map[string]*hclsyntax.Attribute) {
	for name := range waiting {
		s.locals[name] = cty.DynamicVal
	}
	way := []string{slices.Sorted(maps.Keys(waiting))[0]}
	for {
		next := referencedLocals(waiting[way[len(way)-1]].Expr, waiting)[0]
		if i := slices.Index(way, next); i >= 0 {
			way = append(way[i:], next)
			break
		}
		way = append(way, next)
	}
	s.loader.addError(waiting[way[0]].NameRange, "locals need each other", "local."+strings.Join(way, " needs local.")+"; give one of them a value of its own")
}
