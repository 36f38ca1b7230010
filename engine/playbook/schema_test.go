package playbook_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"holdfast/engine/playbook"
)

const schemaFile = "../../playbooks/playbook.schema.json"

// TestSchemaIsUpToDate: the schema file for editors is up to date.
func TestSchemaIsUpToDate(t *testing.T) {
	if *update {
		if err := os.WriteFile(schemaFile, playbook.Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(schemaFile)
	if err != nil || !bytes.Equal(text, playbook.Schema()) {
		t.Errorf("%s is not what the parser takes; go test ./engine/playbook -update writes it (%v)", schemaFile, err)
	}
}

// compileSchema compiles the schema. The compiler checks it against the schema
// of JSON Schema.
func compileSchema(t testing.TB) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(playbook.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("playbook.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("playbook.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// convertToJSON converts YAML as an editor does. ok is false for YAML that has
// no equivalent in JSON, or for which parsers differ.
func convertToJSON(n *yaml.Node, depth int) (any, bool) {
	switch {
	case depth > 40 || n.Style&yaml.TaggedStyle != 0:
		return nil, false
	case n.Kind == yaml.AliasNode:
		return convertToJSON(n.Alias, depth+1)
	case n.Kind == yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			x, ok := convertToJSON(c, depth+1)
			if !ok {
				return nil, false
			}
			list = append(list, x)
		}
		return list, true
	case n.Kind == yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			x, ok := convertToJSON(n.Content[i+1], depth+1)
			if _, twice := m[key.Value]; !ok || twice || key.Kind != yaml.ScalarNode || key.Tag == "!!null" || key.Tag == "!!merge" {
				return nil, false
			}
			m[key.Value] = x
		}
		return m, true
	case n.Tag == "!!null":
		return nil, true
	case n.Tag == "!!bool":
		return strings.EqualFold(n.Value, "true"), true
	case n.Tag == "!!int":
		i, err := strconv.Atoi(n.Value)
		return i, err == nil && strconv.Itoa(i) == n.Value
	case n.Tag == "!!float":
		f, err := strconv.ParseFloat(n.Value, 64)
		return f, err == nil && f != float64(int64(f)) // 1.0 is 1 to the schema
	}
	return n.Value, true
}

// validateText validates a text against the schema. comparable is false if the
// text is not a single document that could be JSON.
func validateText(s *jsonschema.Schema, text string) (good, comparable bool) {
	dec := yaml.NewDecoder(strings.NewReader(text))
	var root, second yaml.Node
	if dec.Decode(&root) != nil || dec.Decode(&second) == nil || len(root.Content) == 0 {
		return false, false
	}
	x, ok := convertToJSON(root.Content[0], 0)
	return ok && s.Validate(x) == nil, ok
}

// beyond lists errors that no schema can find: they depend on an inventory or a
// variable, or on the syntax of conditions, units, URLs and durations.
var beyond = []string{
	": hosts: ", "the hosts of a play cannot come", "is not a condition", "a condition has no", "when is neither", "when has a loop", "var needs a name", "this number is too long",
	"the variable ", "no variable ", "only variables of the play", "Jinja is not evaluated", "--var ", "means different numbers",
	"is not the name of a unit", "the path is not absolute", "the URL cannot be requested", "timeout is not a duration; write a number and a unit", "contains a NUL", "the name has several lines", "would never run", " after its variables are replaced", "etcd_snapshot cannot have a when", "that stage has put on disk", "--tags", "--skip-tags",
}

// isStructural reports whether the schema should find one of the errors.
func isStructural(err error) bool {
	for mistake := range strings.SplitSeq(err.Error(), "\n\n") {
		seen := true
		for _, b := range beyond {
			seen = seen && !strings.Contains(mistake, b)
		}
		if seen {
			return true
		}
	}
	return false
}

// checkAgreement checks that schema and parser agree about a text.
func checkAgreement(t interface{ Errorf(string, ...any) }, s *jsonschema.Schema, text string) {
	good, ok := validateText(s, text)
	if !ok {
		return
	}
	_, err := loadText(text, parseOptions(text))
	switch {
	case !good && err == nil:
		t.Errorf("only the schema refuses\n%s", text)
	case good && err != nil && isStructural(err) && !playbook.IsTranslated(text):
		t.Errorf("only the parser refuses\n%s\n%v", text, err)
	}
}

// TestSchemaAgrees: schema and parser agree about all playbooks, except for
// errors that a schema cannot find.
func TestSchemaAgrees(t *testing.T) {
	s := compileSchema(t)
	texts := collectPlaybooks(t)
	good := 0
	for _, text := range texts {
		if ok, _ := validateText(s, text); ok {
			good++
		}
		checkAgreement(t, s, text)
		for _, one := range splitPieces(text) {
			checkAgreement(t, s, one)
		}
	}
	if good < 10 || len(texts)-good < 10 {
		t.Errorf("%d good and %d bad playbooks are too few", good, len(texts)-good)
	}
}

// collectPlaybooks returns all playbooks of the cases and examples.
func collectPlaybooks(t testing.TB) []string {
	var texts []string
	archives, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range archives {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".yaml") {
				texts = append(texts, string(f.Data))
			}
		}
	}
	ready, _ := filepath.Glob("../../playbooks/*.yaml")
	for _, file := range ready {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// splitPieces returns playbooks with one play and one task each, so that one
// error does not hide another.
func splitPieces(text string) []string {
	var root yaml.Node
	if yaml.Unmarshal([]byte(text), &root) != nil || len(root.Content) == 0 {
		return nil
	}
	var out []string
	word := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
	list := func(n *yaml.Node) *yaml.Node {
		return &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}
	}
	add := func(pairs ...*yaml.Node) {
		play := &yaml.Node{Kind: yaml.MappingNode, Content: append([]*yaml.Node{word("hosts"), word("all")}, pairs...)}
		if b, err := yaml.Marshal(list(play)); err == nil {
			out = append(out, string(b))
		}
	}
	for _, play := range root.Content[0].Content {
		if b, err := yaml.Marshal(list(play)); err == nil {
			out = append(out, string(b))
		}
		for i := 0; i+1 < len(play.Content); i += 2 {
			key, value := play.Content[i], play.Content[i+1]
			if key.Value != "hosts" && key.Value != "tasks" {
				add(word("tasks"), list(word("stage")), key, value)
			}
			if value.Kind != yaml.SequenceNode {
				continue
			}
			for _, task := range value.Content {
				if key.Value == "tasks" {
					add(key, list(task))
				} else {
					add(word("tasks"), list(word("stage")), key, list(task))
				}
			}
		}
	}
	return out
}

// TestSchemaAgreesOnMutations: schema and parser agree about playbooks with
// random changes.
func TestSchemaAgreesOnMutations(t *testing.T) {
	s := compileSchema(t)
	seeds := collectPlaybooks(t)
	for _, text := range seeds {
		seeds = append(seeds, splitPieces(text)...)
	}
	values := []string{"1", "0", "-1", "\"\"", "\" \"", "x", "true", "~", "[]", "{}", "\"30%\"", "\"30\"", "[1, \"5%\"]", "5m", "1.5", "[x]", "{a: b}", "stage", "[stage]", "all", "localhost", "sorted", "{cmd: x}", "{port: 1}"}
	keys := append([]string{"x", "become"}, playbook.Words()...)
	rapid.Check(t, func(rt *rapid.T) {
		var root yaml.Node
		text := rapid.SampledFrom(seeds).Draw(rt, "seed")
		if yaml.Unmarshal([]byte(text), &root) != nil || len(root.Content) == 0 {
			return
		}
		for range rapid.IntRange(1, 2).Draw(rt, "mutations") {
			nodes := collectNodes(&root, nil, 0)
			n := rapid.SampledFrom(nodes).Draw(rt, "at")
			var fresh yaml.Node
			if err := yaml.Unmarshal([]byte(rapid.SampledFrom(values).Draw(rt, "value")), &fresh); err != nil {
				rt.Fatal(err)
			}
			value := fresh.Content[0]
			switch mutation := rapid.IntRange(0, 3).Draw(rt, "what"); {
			case mutation == 0 && n.Kind == yaml.MappingNode:
				n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: rapid.SampledFrom(keys).Draw(rt, "key")}, value)
			case mutation == 1 && n.Kind == yaml.MappingNode && len(n.Content) > 0:
				i := 2 * rapid.IntRange(0, len(n.Content)/2-1).Draw(rt, "which")
				n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
			case mutation == 2 && n.Kind == yaml.SequenceNode:
				n.Content = append(n.Content, value)
			default:
				*n = *value
			}
		}
		if out, err := yaml.Marshal(&root); err == nil {
			checkAgreement(rt, s, string(out))
		}
	})
}

// collectNodes returns a node and all nodes below it, without keys.
func collectNodes(n *yaml.Node, list []*yaml.Node, depth int) []*yaml.Node {
	if n.Kind != yaml.DocumentNode {
		list = append(list, n)
	}
	for i, c := range n.Content {
		if (n.Kind != yaml.MappingNode || i%2 == 1) && depth < 30 {
			list = collectNodes(c, list, depth+1)
		}
	}
	return list
}
