package syntax

import (
	"bytes"
	"regexp"
	"strconv"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"holdfast/engine/resource"
)

// maxNodes is the maximum number of values in a document. In YAML it includes
// the values that aliases repeat.
const maxNodes = 2_000_000

// MaxYAMLDocuments is the maximum number of documents in a YAML stream.
const MaxYAMLDocuments = 10_000

// YAMLChunk is one document of a YAML stream.
type YAMLChunk struct {
	Text []byte
	Line int // number of lines before the document
}

// SplitYAML splits a YAML stream at its document markers. A marker at the
// start of a line counts even inside a block scalar.
func SplitYAML(text []byte) []YAMLChunk {
	var chunks []YAMLChunk
	current := YAMLChunk{}
	for number, line := range bytes.SplitAfter(text, []byte("\n")) {
		mark := isDocumentMark(line)
		if mark {
			chunks = append(chunks, current)
			current = YAMLChunk{Line: number}
			line = append([]byte("   "), line[3:]...) // text after the marker keeps its column
		}
		current.Text = append(current.Text, line...)
	}
	return append(chunks, current)
}

func isDocumentMark(line []byte) bool {
	for _, mark := range [][]byte{[]byte("---"), []byte("...")} {
		if rest, ok := bytes.CutPrefix(line, mark); ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0) {
			return true
		}
	}
	return false
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// ReadYAML parses one YAML document. On failure it reports an error and returns nil.
func ReadYAML(file string, c YAMLChunk, report *Problems) *Node {
	r := &yamlReader{file: file, linesBefore: c.Line, report: report}
	if !utf8.Valid(c.Text) {
		report.AddError(resource.SourcePosition{File: file, Line: c.Line + 1}, "is not UTF-8 text; save it as UTF-8")
		return nil
	}
	if hasTooManyValues(c.Text) {
		report.AddError(resource.SourcePosition{File: file, Line: c.Line + 1}, "has more than %d values; split the document", maxNodes)
		return nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(c.Text, &root); err != nil {
		at := resource.SourcePosition{File: file, Line: c.Line + 1}
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			if line, err := strconv.Atoi(m[1]); err == nil {
				at.Line = c.Line + line
			}
		}
		report.AddError(at, "is not valid YAML here; check indentation, quotes and colons")
		return nil
	}
	if len(root.Content) == 0 {
		return nil
	}
	n := r.readValue(root.Content[0], 0)
	if r.tooMuch || n.Kind == NullKind {
		return nil
	}
	return n
}

// hasTooManyValues estimates the number of values before parsing, because the
// YAML library allocates all of them at once. Each value except the first
// needs one of these marks.
func hasTooManyValues(text []byte) bool {
	marks := 0
	for _, mark := range []string{"\n", ",", "[", "{", "- ", "? "} {
		marks += bytes.Count(text, []byte(mark))
	}
	return marks > 2*maxNodes
}

type yamlReader struct {
	file        string
	linesBefore int
	count       int
	bytes       int // total length of strings, including those that aliases repeat
	report      *Problems

	tooMuch bool // a limit was exceeded and reported
}

func (r *yamlReader) addError(y *yaml.Node, format string, args ...any) {
	r.report.AddError(resource.SourcePosition{File: r.file, Line: r.linesBefore + y.Line, Column: y.Column}, format, args...)
}

func (r *yamlReader) readValue(y *yaml.Node, depth int) *Node {
	n := &Node{Kind: NullKind, Line: r.linesBefore + y.Line, Column: y.Column}
	r.count++
	if r.tooMuch {
		return n
	}
	r.bytes += len(y.Value)
	if r.count > maxNodes || depth > maxDepth || r.bytes > MaxDocument {
		r.tooMuch = true
		r.addError(y, "has more than %d values or %d MiB, or is nested more than %d deep; write it flatter, with fewer aliases", maxNodes, MaxDocument>>20, maxDepth)
		return n
	}
	switch y.Kind {
	case yaml.AliasNode:
		return r.readValue(y.Alias, depth+1)
	case yaml.SequenceNode:
		n.Kind = ListKind
		for _, item := range y.Content {
			n.Items = append(n.Items, r.readValue(item, depth+1))
		}
	case yaml.MappingNode:
		n.Kind = ObjectKind
		r.readObject(n, y, depth)
	case yaml.ScalarNode:
		r.readScalar(n, y)
	}
	return n
}

func (r *yamlReader) readObject(n *Node, y *yaml.Node, depth int) {
	var seen nameSet
	for i := 0; i+1 < len(y.Content); i += 2 {
		name, value := y.Content[i], y.Content[i+1]
		if name.Kind == yaml.AliasNode {
			name = name.Alias
		}
		switch {
		case name.Kind != yaml.ScalarNode:
			r.addError(y.Content[i], "has a field whose name is not a string; name it")
			continue
		case name.ShortTag() == "!!merge":
			r.addError(y.Content[i], "merges fields with <<, which is not supported; write them out")
			continue
		case !seen.addName(name.Value):
			r.addError(y.Content[i], "field %s is duplicated; keep one", ShortenName(name.Value))
			continue
		}
		r.bytes += len(name.Value)
		n.Keys = append(n.Keys, Key{Name: name.Value, Line: r.linesBefore + y.Content[i].Line, Column: y.Content[i].Column})
		n.Items = append(n.Items, r.readValue(value, depth+1))
	}
}

func (r *yamlReader) readScalar(n *Node, y *yaml.Node) {
	switch y.ShortTag() {
	case "!!null":
	case "!!bool":
		var v bool
		if err := y.Decode(&v); err != nil {
			r.addError(y, "is not true or false")
		}
		n.Kind, n.Scalar = BoolKind, strconv.FormatBool(v)
	case "!!int":
		var v int64
		if err := y.Decode(&v); err != nil {
			r.addError(y, "is too large a number")
		}
		n.Kind, n.Scalar = NumberKind, strconv.FormatInt(v, 10)
	case "!!float":
		// No field accepts a fraction, and JSON has no .nan.
		n.Kind, n.Scalar = NumberKind, "0.5"
	case "!!str", "!!timestamp":
		n.Kind, n.Scalar, n.IsBlock = TextKind, y.Value, y.Style&yaml.LiteralStyle != 0
	default:
		r.addError(y, "has a type that is not supported; write it as a plain string, number, true or false")
	}
}

// MaxDocument is the maximum size of a file of documents in bytes.
const MaxDocument = 128 << 20
