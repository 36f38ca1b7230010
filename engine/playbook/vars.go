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

// variables are those of one play.
type variables struct {
	l     *loader
	given map[string]*yaml.Node // as the play has them
	known map[string]variable   // worked out
	busy  map[string]bool       // being worked out
}

// variable is the value of one, and how it reads in a text.
type variable struct {
	value cty.Value
	text  string
}

// readVars reads the vars of a play; e is nothing where it has none.
func (l *loader) readVars(e entry) *variables {
	v := &variables{l: l, given: map[string]*yaml.Node{}, known: map[string]variable{}, busy: map[string]bool{}}
	switch {
	case e.value == nil || e.value.Tag == "!!null":
		return v
	case e.value.Kind != yaml.MappingNode:
		l.fail(e.value, "vars is not a mapping", "write NAME: VALUE, each in a line of its own")
		return v
	}
	for name, x := range l.mapping(e.value) {
		if !variableName.MatchString(name) {
			l.fail(x.key, fmt.Sprintf("%q cannot be the name of a variable", name), "names are letters, digits and _, and begin with a letter")
			continue
		}
		v.given[name] = x.value
	}
	for _, name := range slices.Sorted(maps.Keys(v.given)) {
		if n := v.given[name]; n.Kind != yaml.ScalarNode || n.Tag != "!!null" {
			v.get(name, at(n))
		}
	}
	return v
}

// namePattern is what the schema takes, too.
const namePattern = `^[A-Za-z][A-Za-z0-9_]*$`

var (
	variableName = regexp.MustCompile(namePattern)
	jsonNumber   = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$`)
)

// get works out a variable that is used at a place; false if there is none of
// that name, or something is wrong with it, which is noted.
func (v *variables) get(name string, where place) (variable, bool) {
	n, ok := v.given[name]
	if !ok {
		advice := "the play has no vars; add vars: with " + name
		if len(v.given) > 0 {
			advice = suggestion(name, slices.Sorted(maps.Keys(v.given)))
		}
		if _, given := v.l.opts.Vars[name]; given {
			advice = "--var gives values to variables of the play; add it to its vars"
		}
		v.l.errs.add(where, fmt.Sprintf("no variable %q", name), advice)
		return variable{}, false
	}
	if x, ok := v.known[name]; ok {
		return x, x.value != cty.NilVal
	}
	if v.busy[name] {
		v.l.errs.add(where, fmt.Sprintf("the variable %q depends on itself", name), "give one of the variables on the way a value of its own")
		return variable{}, false
	}
	v.busy[name] = true
	x, ok := v.worked(name, n, where)
	v.busy[name] = false
	if n.Tag != "!!null" || ok {
		v.known[name] = x // what is wrong is said once
	}
	return x, ok
}

// worked gives what a variable is: by --var, or by the play.
func (v *variables) worked(name string, n *yaml.Node, where place) (variable, bool) {
	fromPlay, ok := v.written(name, n)
	given, set := v.l.opts.Vars[name]
	switch {
	case !ok:
		return variable{}, false
	case !set && n.Tag == "!!null":
		v.l.errs.add(where, fmt.Sprintf("the variable %q has no value", name), "give it one with --var "+name+"=…")
		return variable{}, false
	case !set:
		return fromPlay, true
	case n.Tag == "!!bool" && given != "true" && given != "false":
		v.l.fail(n, fmt.Sprintf("--var %s=… is neither true nor false, as it is here", name), "write true or false")
		return variable{}, false
	case n.Tag == "!!bool":
		return variable{cty.BoolVal(given == "true"), given}, true
	case n.Tag == "!!int" || n.Tag == "!!float":
		if !jsonNumber.MatchString(given) {
			v.l.fail(n, fmt.Sprintf("--var %s=… is not a number, as it is here", name), "write a number")
			return variable{}, false
		}
		return variable{cty.MustParseNumberVal(given), given}, true
	}
	return variable{cty.StringVal(given), given}, true
}

// written is the value that the play gives a variable.
func (v *variables) written(name string, n *yaml.Node) (variable, bool) {
	if !v.l.plain("the variable", n) {
		return variable{}, false
	}
	if n.Kind != yaml.ScalarNode {
		v.l.fail(n, fmt.Sprintf("the variable %q is not a single value", name), "it can be a text, a number, true or false")
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
			v.l.fail(n, fmt.Sprintf("%s means different numbers to different readers of YAML", n.Value), "put it in quotes, or write it without leading zeros, _ and 0x")
			return variable{}, false
		}
		return variable{cty.MustParseNumberVal(n.Value), n.Value}, true
	}
	s, ok := v.expand(n, n.Value)
	return variable{cty.StringVal(s), s}, ok
}

// jinja finds what Ansible would replace. {{.Names}} and {{json .}} are left
// alone: they are podman's.
var jinja = regexp.MustCompile(`\{\{-?\s*([A-Za-z_]\w*)(?:[.\[][^}]*)?\s*(?:\|[^}]*)?-?\}\}`)

// expand puts the values of variables into a text: ${var.NAME}. $${ stands for
// ${, as in HCL.
func (v *variables) expand(n *yaml.Node, s string) (string, bool) {
	if m := jinja.FindStringSubmatchIndex(s); m != nil && s[m[2]:m[3]] != "end" && s[m[2]:m[3]] != "else" {
		v.l.errs.add(v.l.within(n, m[0], m[1]-m[0]), "Jinja is not evaluated", "a variable is written ${var.NAME}")
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
		name, ok := v.reference(s[i : i+length])
		where := v.l.within(n, i, length)
		if !ok {
			v.l.errs.add(where, "only variables of the play can stand here", "write ${var.NAME}; for the shell's own, write $${NAME} or $NAME")
			return "", false
		}
		x, ok := v.get(name, where)
		good = good && ok
		b.WriteString(x.text)
		i += length
	}
	return b.String(), good
}

// reference reads ${var.NAME}.
func (v *variables) reference(s string) (string, bool) {
	s, closed := strings.CutSuffix(strings.TrimPrefix(s, "${"), "}")
	name, ok := strings.CutPrefix(strings.TrimSpace(s), "var.")
	return name, closed && ok && hclsyntax.ValidIdentifier(name)
}
