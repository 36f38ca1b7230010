package playbook

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"gopkg.in/yaml.v3"

	"holdfast/engine"
)

// maxCondition is the maximum length of a condition in bytes.
const maxCondition = 4096

func hostVariables(h engine.Host) map[string]cty.Value {
	return map[string]cty.Value{
		"host": cty.StringVal(h.Name), "pool": cty.StringVal(h.Pool), "zone": cty.StringVal(h.Zone),
		"address": cty.StringVal(h.Address), "etcd_cluster": cty.StringVal(h.Cluster),
	}
}

func conditionFunctions() map[string]function.Function {
	onTexts := func(f func(s, part string) bool) function.Function {
		return function.New(&function.Spec{
			Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "part", Type: cty.String}},
			Type:   function.StaticReturnType(cty.Bool),
			Impl: func(a []cty.Value, _ cty.Type) (cty.Value, error) {
				return cty.BoolVal(f(a[0].AsString(), a[1].AsString())), nil
			},
		})
	}
	return map[string]function.Function{
		"contains": stdlib.ContainsFunc, "startswith": onTexts(strings.HasPrefix), "endswith": onTexts(strings.HasSuffix),
	}
}

// conditionReader reads and evaluates the conditions of tasks.
type conditionReader struct{ *loader }

func (c conditionReader) skippedHosts(n *yaml.Node) map[string]bool {
	var skipped map[string]bool
	for _, item := range c.listElements("when", "a condition", n) {
		expr, vars, ok := c.parseCondition(item)
		if !ok {
			continue
		}
		for _, h := range c.hosts {
			holds, ok := c.evaluateCondition(item, expr, vars, h)
			if !ok {
				break
			}
			if holds {
				continue
			}
			if skipped == nil {
				skipped = map[string]bool{}
			}
			skipped[h.Name] = true
		}
	}
	return skipped
}

func (c conditionReader) parseCondition(n *yaml.Node) (hclsyntax.Expression, map[string]cty.Value, bool) {
	if n.Style&yaml.TaggedStyle != 0 {
		c.addProblem(n, "when has the YAML tag "+n.Tag, "put a condition that begins with ! in quotes")
		return nil, nil, false
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		if _, ok := c.readText("when", n); !ok {
			return nil, nil, false
		}
	}
	if len(n.Value) > maxCondition {
		c.addProblem(n, fmt.Sprintf("when is longer than %d bytes", maxCondition), "give the hosts a pool or a zone of their own to name them by")
		return nil, nil, false
	}
	text := n.Value
	if n.Tag == "!!bool" {
		text = strings.ToLower(text) // YAML also accepts True
	}
	if i := strings.Index(text, "{{"); i >= 0 {
		c.errs.addProblem(c.textPlace(n, i, 2), "Jinja is not evaluated", ansibleHint(text))
		return nil, nil, false
	}
	if !c.checkNumbers(n, text) {
		return nil, nil, false
	}
	expr, diags := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		c.reportDiagnostic(n, text, diags[0])
		return nil, nil, false
	}
	if hasLoop(expr) {
		c.addProblem(n, "when has a loop", "a condition compares host, pool, zone, address, etcd_cluster and var.NAME")
		return nil, nil, false
	}
	vars, ok := c.resolveNames(n, text, expr)
	return expr, vars, ok
}

// checkNumbers refuses numbers that variables cannot have, either. A number such as 1e600000000 takes hours to convert.
func (c conditionReader) checkNumbers(n *yaml.Node, text string) bool {
	tokens, _ := hclsyntax.LexExpression([]byte(text), "", hcl.InitialPos) // the parser reports the error
	for _, t := range tokens {
		if t.Type == hclsyntax.TokenNumberLit && !jsonNumber.Match(t.Bytes) {
			c.errs.addProblem(c.textPlace(n, t.Range.Start.Byte, len(t.Bytes)), "this number is too long", "write at most 15 digits before and after the point, without zeros in front and without an exponent")
			return false
		}
	}
	return true
}

func hasLoop(expr hclsyntax.Expression) bool {
	found := false
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n.(type) {
		case *hclsyntax.ForExpr, *hclsyntax.SplatExpr:
			found = true
		}
		return nil
	})
	return found
}

func (c conditionReader) resolveNames(n *yaml.Node, text string, expr hclsyntax.Expression) (map[string]cty.Value, bool) {
	vars, good := map[string]cty.Value{}, true
	words := []string{"host", "pool", "zone", "address", "etcd_cluster", "var"}
	for _, t := range expr.Variables() {
		r := t.SourceRange()
		where := c.textPlace(n, r.Start.Byte, r.End.Byte-r.Start.Byte)
		name := t.RootName()
		if name != "var" {
			if !slices.Contains(words, name) {
				advice := ansibleHint(text)
				if advice == "" {
					advice = suggestWord(name, words)
				}
				c.errs.addProblem(where, fmt.Sprintf("a condition has no %q", name), advice)
				good = false
			}
			continue
		}
		var attr hcl.TraverseAttr
		if len(t) == 2 {
			attr, _ = t[1].(hcl.TraverseAttr)
		}
		if attr.Name == "" {
			c.errs.addProblem(where, "var needs a name", "write var.NAME")
			good = false
			continue
		}
		x, ok := c.vars.resolveVariable(attr.Name, where)
		good = good && ok
		vars[attr.Name] = x.value
	}
	return vars, good
}

func (c conditionReader) evaluateCondition(n *yaml.Node, expr hclsyntax.Expression, vars map[string]cty.Value, h engine.Host) (bool, bool) {
	ctx := &hcl.EvalContext{Variables: hostVariables(h), Functions: conditionFunctions()}
	ctx.Variables["var"] = cty.ObjectVal(vars)
	v, diags := expr.Value(ctx)
	if diags.HasErrors() {
		c.reportDiagnostic(n, n.Value, diags[0])
		return false, false
	}
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.Bool {
		c.addProblem(n, "when is neither true nor false", `compare something: pool == "worker"`)
		return false, false
	}
	return v.True(), true
}

func (c conditionReader) reportDiagnostic(n *yaml.Node, text string, d *hcl.Diagnostic) {
	where := nodePlace(n)
	if d.Subject != nil {
		where = c.textPlace(n, d.Subject.Start.Byte, d.Subject.End.Byte-d.Subject.Start.Byte)
	}
	advice := ansibleHint(text)
	if advice == "" {
		advice = strings.TrimSuffix(d.Detail, ".")
	}
	c.errs.addProblem(where, "this is not a condition: "+strings.TrimSuffix(d.Summary, "."), advice)
}

// ansibleHabits lists expressions of Ansible, with the equivalent in holdfast.
var ansibleHabits = []struct {
	was *regexp.Regexp
	is  string
}{
	{regexp.MustCompile(`\{\{`), "a condition is written without braces, and a variable var.NAME"},
	{regexp.MustCompile(`\binventory_hostname(_short)?\b`), "the host's name is host"},
	{regexp.MustCompile(`\bansible_host\b`), "the host's address is address"},
	{regexp.MustCompile(`\b(group_names|groups)\b`), `the host's pool is pool: pool == "worker"`},
	{regexp.MustCompile(`\b(ansible_\w+|hostvars)\b`), "conditions have host, pool, zone, address, etcd_cluster and var.NAME, but no facts"},
	{regexp.MustCompile(`\bis\s+(not\s+)?\w+`), `there are no tests with "is"; a variable always has a value, compare it: var.NAME != ""`},
	{regexp.MustCompile(`\bnot\s+in\b`), `write !contains(["a", "b"], host)`},
	{regexp.MustCompile(`\bin\b`), `write contains(["a", "b"], host)`},
	{regexp.MustCompile(`\band\b`), "write && in place of and"},
	{regexp.MustCompile(`\bor\b`), "write || in place of or"},
	{regexp.MustCompile(`\bnot\b`), "write ! in place of not, and put the condition in quotes"},
	{regexp.MustCompile(`'`), "write texts in double quotes"},
	{regexp.MustCompile(`[^=!<>]=[^=]`), "equal is =="},
	{regexp.MustCompile(`\b(yes|no|on|off)\b`), "write true or false"},
}

func ansibleHint(text string) string {
	for _, h := range ansibleHabits {
		if h.was.MatchString(text) {
			return h.is
		}
	}
	return ""
}
