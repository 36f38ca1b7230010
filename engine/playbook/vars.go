package playbook

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"gopkg.in/yaml.v3"
)

// variables holds the variables of one play.
type variables struct {
	l         *loader
	given     map[string]*yaml.Node // values in the play
	resolved  map[string]variable   // values after expansion
	resolving map[string]bool       // variables whose expansion has begun, to find cycles
}

// variable is a value in conditions, and the same value as text.
type variable struct {
	value cty.Value
	text  string
}

func (l *loader) readVars(e entry) *variables {
	v := &variables{l: l, given: map[string]*yaml.Node{}, resolved: map[string]variable{}, resolving: map[string]bool{}}
	switch {
	case e.value == nil || e.value.Tag == "!!null":
		return v
	case e.value.Kind != yaml.MappingNode:
		l.addProblem(e.value, "vars is not a mapping", "write NAME: VALUE, each in a line of its own")
		return v
	}
	for name, x := range l.readMapping(e.value) {
		if !variablePattern.MatchString(name) {
			l.addProblem(x.key, fmt.Sprintf("%q cannot be the name of a variable", name), "names are letters, digits and _, and begin with a letter")
			continue
		}
		v.given[name] = x.value
	}
	for _, name := range slices.Sorted(maps.Keys(v.given)) {
		if n := v.given[name]; n.Kind != yaml.ScalarNode || n.Tag != "!!null" {
			v.resolveVariable(name, nodePlace(n))
		}
	}
	return v
}

// namePattern is the form of variable names, also in the schema.
const namePattern = `^[A-Za-z][A-Za-z0-9_]*$`

var (
	variablePattern = regexp.MustCompile(namePattern)
	jsonNumber      = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$`)
)

// resolveVariable reports unknown and invalid variables, and returns false.
func (v *variables) resolveVariable(name string, where place) (variable, bool) {
	n, ok := v.given[name]
	if !ok {
		advice := "the play has no vars; add vars: with " + name
		if len(v.given) > 0 {
			advice = suggestWord(name, slices.Sorted(maps.Keys(v.given)))
		}
		if _, given := v.l.opts.Vars[name]; given {
			advice = "--var sets only variables of the play; add it to its vars"
		}
		v.l.errs.addProblem(where, fmt.Sprintf("no variable %q", name), advice)
		return variable{}, false
	}
	if x, ok := v.resolved[name]; ok {
		return x, x.value != cty.NilVal
	}
	if v.resolving[name] {
		v.l.errs.addProblem(where, fmt.Sprintf("the variable %q depends on itself", name), "set one of the variables to a value without references")
		return variable{}, false
	}
	v.resolving[name] = true
	x, ok := v.computeValue(name, n, where)
	v.resolving[name] = false
	if n.Tag != "!!null" || ok {
		v.resolved[name] = x // also after an error, to report it only once
	}
	return x, ok
}

func (v *variables) computeValue(name string, n *yaml.Node, where place) (variable, bool) {
	fromPlay, ok := v.playValue(name, n)
	given, set := v.l.opts.Vars[name]
	switch {
	case !ok:
		return variable{}, false
	case !set && n.Tag == "!!null":
		v.l.errs.addProblem(where, fmt.Sprintf("the variable %q has no value", name), "set one with --var "+name+"=…")
		return variable{}, false
	case !set:
		return fromPlay, true
	case n.Tag == "!!bool" && given != "true" && given != "false":
		v.l.addProblem(n, fmt.Sprintf("--var %s=… must be true or false, like the value here", name), "write true or false")
		return variable{}, false
	case n.Tag == "!!bool":
		return variable{cty.BoolVal(given == "true"), given}, true
	case n.Tag == "!!int" || n.Tag == "!!float":
		if !jsonNumber.MatchString(given) {
			v.l.addProblem(n, fmt.Sprintf("--var %s=… must be a number, like the value here", name), "write a number")
			return variable{}, false
		}
		return variable{cty.MustParseNumberVal(given), given}, true
	}
	return variable{cty.StringVal(given), given}, true
}

func (v *variables) playValue(name string, n *yaml.Node) (variable, bool) {
	if !v.l.checkUntagged("the variable", n) {
		return variable{}, false
	}
	if n.Kind != yaml.ScalarNode {
		v.l.addProblem(n, fmt.Sprintf("the variable %q is not a single value", name), "it can be a text, a number, true or false")
		return variable{}, false
	}
	switch n.Tag {
	case "!!null":
		return variable{}, true
	case "!!bool":
		b := strings.ToLower(n.Value)
		return variable{cty.BoolVal(b == "true"), b}, true
	case "!!int", "!!float":
		if !jsonNumber.MatchString(n.Value) {
			v.l.addProblem(n, fmt.Sprintf("%s means different numbers to different readers of YAML", n.Value), "put it in quotes, or write it without leading zeros, _ and 0x")
			return variable{}, false
		}
		return variable{cty.MustParseNumberVal(n.Value), n.Value}, true
	}
	s, ok := v.expandReferences(n, n.Value)
	return variable{cty.StringVal(s), s}, ok
}

// expandReferences replaces ${var.NAME}. As in HCL, $${ stands for ${.
func (v *variables) expandReferences(n *yaml.Node, s string) (string, bool) {
	if start, end, found := findJinja(s); found {
		v.l.errs.addProblem(v.l.textPlace(n, start, end-start), "Jinja is not evaluated", "a variable is written ${var.NAME}")
		return "", false
	}
	var b strings.Builder
	good := true
	for i := 0; i < len(s); {
		if strings.HasPrefix(s[i:], "$${") {
			b.WriteString("${")
			i += len("$${")
			continue
		}
		if !strings.HasPrefix(s[i:], "${") {
			b.WriteByte(s[i])
			i++
			continue
		}
		length := strings.IndexByte(s[i:], '}') + 1
		if length == 0 {
			length = 2
		}
		name, ok := v.parseReference(s[i : i+length])
		where := v.l.textPlace(n, i, length)
		if !ok {
			v.l.errs.addProblem(where, "only variables of the play are replaced here", "write ${var.NAME}; for the shell's own, write $${NAME} or $NAME")
			return "", false
		}
		x, ok := v.resolveVariable(name, where)
		good = good && ok
		b.WriteString(x.text)
		i += length
	}
	return b.String(), good
}

func (v *variables) parseReference(s string) (string, bool) {
	s, closed := strings.CutSuffix(strings.TrimPrefix(s, "${"), "}")
	name, ok := strings.CutPrefix(strings.TrimSpace(s), "var.")
	return name, closed && ok && hclsyntax.ValidIdentifier(name)
}
