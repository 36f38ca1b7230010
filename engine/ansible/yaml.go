package ansible

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"holdfast/engine/textutil"
)

// yamlReader reads a YAML inventory, or a file of variables.
type yamlReader struct {
	*builder
	file string
}

func (b *builder) readYAML(file string, text []byte) {
	r := yamlReader{b, file}
	root, ok := r.parse(text)
	if !ok {
		return
	}
	at := r.place(root)
	if root.Kind != yaml.MappingNode {
		r.addError(at, "an inventory is an object of groups; this is not one")
		return
	}
	for _, f := range r.listFields(root) {
		switch {
		case f.key == "plugin":
			r.addError(f.at, "the file configures an inventory plugin, which holdfast cannot run; write its result into a file (%s), and name that file", listCommand(file))
		case f.key == "_meta":
			r.addError(f.at, "the file is the JSON of a script; write it as an inventory (%s), and name that file", listCommand(file))
		}
	}
	if len(r.errs) > 0 {
		return
	}
	for _, f := range r.listFields(root) {
		r.readGroup(f, 0)
	}
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// parse returns the root of the only document. The root of an empty document
// is an error.
func (r yamlReader) parse(text []byte) (*yaml.Node, bool) {
	at := Position{r.file, 1, 1}
	marks := 0
	for _, mark := range []string{"\n", ",", "[", "{", "- ", "? "} { // the library allocates all values at once
		marks += bytes.Count(text, []byte(mark))
	}
	if marks > maxVisits {
		r.reportFull(at)
		return nil, false
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	switch {
	case errors.Is(err, io.EOF):
		r.addError(at, "the file is empty")
	case err != nil:
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			at.Line, _ = strconv.Atoi(m[1])
		}
		r.addError(at, "is not valid YAML here; check indentation, quotes and colons")
	case !errors.Is(decoder.Decode(&second), io.EOF):
		r.addError(Position{r.file, max(second.Line, 1), max(second.Column, 1)}, "begins a second document; an inventory has one")
	case len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null":
		r.addError(at, "the file is empty")
	default:
		return resolveAlias(document.Content[0]), true
	}
	return nil, false
}

func (r yamlReader) place(n *yaml.Node) Position { return Position{r.file, n.Line, n.Column} }

func resolveAlias(n *yaml.Node) *yaml.Node {
	for range maxDepth {
		if n.Kind != yaml.AliasNode {
			return n
		}
		n = n.Alias
	}
	return n
}

// field is a field of an object.
type field struct {
	key   string
	at    Position
	value *yaml.Node
}

// listFields returns the fields of an object. Objects that it merges with <<
// come first, without the fields that it has itself.
func (r yamlReader) listFields(n *yaml.Node) []field { return r.listMerged(n, 0) }

func (r yamlReader) listMerged(n *yaml.Node, depth int) []field {
	var own, merged []field
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolveAlias(n.Content[i]), resolveAlias(n.Content[i+1])
		at := r.place(n.Content[i])
		if depth > maxDepth || !r.countVisit(at) {
			r.reportFull(at)
			return nil
		}
		switch {
		case key.Kind != yaml.ScalarNode:
			r.addError(at, "has a field whose name is not a text; name it")
		case key.ShortTag() == "!!merge":
			merged = append(merged, r.listMergedObjects(value, depth+1)...)
		case seen[key.Value]:
			r.addError(at, "%q is there twice; keep one", key.Value)
		default:
			seen[key.Value] = true
			own = append(own, field{key.Value, at, value})
		}
	}
	var out []field
	for _, f := range merged {
		if !seen[f.key] {
			seen[f.key] = true
			out = append(out, f)
		}
	}
	return append(out, own...)
}

// listMergedObjects returns the fields of an object, or of a list of objects
// whose first one wins.
func (r yamlReader) listMergedObjects(n *yaml.Node, depth int) []field {
	objects := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		objects = n.Content
	}
	var all []field
	for _, o := range objects {
		if o = resolveAlias(o); o.Kind != yaml.MappingNode {
			r.addError(r.place(o), "<< merges objects; this is not one")
			continue
		}
		all = append(all, r.listMerged(o, depth)...)
	}
	return all
}

func (r yamlReader) readGroup(f field, depth int) {
	if depth > maxDepth {
		r.addError(f.at, "groups are nested more than %d deep", maxDepth)
		return
	}
	if f.value.Kind != yaml.MappingNode && f.value.ShortTag() != "!!null" {
		r.addRemark(f.at, "%q is no group, because it is no object; Ansible skips it, too", f.key)
		return
	}
	g := r.addGroup(f.key, f.at)
	g.declared = true
	if f.value.Kind != yaml.MappingNode {
		return
	}
	for _, section := range r.listFields(f.value) {
		switch section.key {
		case "vars":
			for _, v := range r.listSection(g, section) {
				r.setGroupVariable(g, v.key, r.readValue(v.value))
			}
		case "children":
			for _, child := range r.listSection(g, section) {
				r.readChild(g, child, depth)
			}
		case "hosts":
			for _, h := range r.listSection(g, section) {
				r.readHost(g, h)
			}
		default:
			r.addRemark(section.at, "group %s: %q is none of hosts, children and vars; Ansible skips it, too", g.name, section.key)
		}
	}
}

// listSection returns the entries of hosts, children or vars: an object, or
// one name.
func (r yamlReader) listSection(g *group, section field) []field {
	switch n := section.value; {
	case n.Kind == yaml.MappingNode:
		return r.listFields(n)
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return nil
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		return []field{{n.Value, r.place(n), &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line, Column: n.Column}}}
	default:
		r.addError(r.place(n), "%s of group %s is not an object; write each name with a colon, and no dash", section.key, g.name)
		return nil
	}
}

func (r yamlReader) readChild(g *group, child field, depth int) {
	r.readGroup(child, depth+1)
	if r.groups[child.key] != nil && !slices.ContainsFunc(g.children, func(c childGroup) bool { return c.name == child.key }) {
		g.children = append(g.children, childGroup{child.key, child.at})
	}
}

func (r yamlReader) readHost(g *group, f field) {
	names, port, err := expandPattern(f.key)
	if err != nil {
		r.addError(f.at, "%q: %s", textutil.CutText(f.key, maxShown), err)
		return
	}
	vars := map[string]Value{}
	if port != "" {
		vars["ansible_port"] = Value{At: f.at, Kind: Number, Text: port}
	}
	switch {
	case f.value.Kind == yaml.MappingNode:
		maps.Copy(vars, r.readVariables(f.value))
	case f.value.ShortTag() != "!!null":
		r.addError(f.at, "the variables of host %q are no object; write NAME: VALUE below it", f.key)
	}
	r.addHosts(names, vars, g, f.at)
}

func (r yamlReader) readVariables(n *yaml.Node) map[string]Value {
	vars := map[string]Value{}
	for _, f := range r.listFields(n) {
		vars[f.key] = r.readValue(f.value)
	}
	return vars
}

// oldBoolean matches the booleans of YAML 1.1, which Ansible reads.
var oldBoolean = regexp.MustCompile(`^(yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$`)

func (r yamlReader) readValue(n *yaml.Node) Value {
	v := Value{At: r.place(n)}
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!vault":
		v.Kind = Secret
	case n.Kind != yaml.ScalarNode:
		v.Kind = Structure
	case n.ShortTag() == "!!null":
		v.Kind = Null
	case n.ShortTag() == "!!bool" || n.Style == 0 && oldBoolean.MatchString(n.Value):
		v.Kind, v.Text = Boolean, "false"
		if truth, _ := (Value{Text: n.Value}).Truth(); truth {
			v.Text = "true"
		}
	case n.ShortTag() == "!!int":
		v.Kind, v.Text = Number, n.Value
		var number int64
		if n.Decode(&number) == nil {
			v.Text = strconv.FormatInt(number, 10)
		}
	case n.ShortTag() == "!!float":
		v.Kind, v.Text = Number, n.Value
	case isTemplate(n.Value):
		v.Kind, v.Text = Template, n.Value
	default:
		v.Text = n.Value
	}
	return v
}
