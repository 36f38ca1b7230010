package config

import (
	"bytes"
	"regexp"
	"strconv"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"holdfast/engine"
)

// maxNodes is the maximum number of values in a document. In YAML it includes
// the values that aliases repeat.
const maxNodes = 2_000_000

// maxYAMLDocuments is the maximum number of documents in a YAML stream.
const maxYAMLDocuments = 10_000

// yamlChunk is one document of a YAML stream.
type yamlChunk struct {
	text []byte
	line int // number of lines before the document
}

// splitYAML splits a YAML stream at its document markers. A marker at the
// start of a line counts even inside a block scalar.
func splitYAML(text []byte) []yamlChunk {
	var chunks []yamlChunk
	current := yamlChunk{}
	for number, line := range bytes.SplitAfter(text, []byte("\n")) {
		mark := isDocumentMark(line)
		if mark {
			chunks = append(chunks, current)
			current = yamlChunk{line: number}
			line = append([]byte("   "), line[3:]...) // text after the marker keeps its column
		}
		current.text = append(current.text, line...)
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

func readYAML(file string, c yamlChunk, report *problems) *node {
	r := &yamlReader{file: file, linesBefore: c.line, report: report}
	if !utf8.Valid(c.text) {
		report.addError(engine.SourcePosition{File: file, Line: c.line + 1}, "is not UTF-8 text; save it as UTF-8")
		return nil
	}
	if hasTooManyValues(c.text) {
		report.addError(engine.SourcePosition{File: file, Line: c.line + 1}, "has more than %d values; split the document", maxNodes)
		return nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(c.text, &root); err != nil {
		at := engine.SourcePosition{File: file, Line: c.line + 1}
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			if line, err := strconv.Atoi(m[1]); err == nil {
				at.Line = c.line + line
			}
		}
		report.addError(at, "is not valid YAML here; check indentation, quotes and colons")
		return nil
	}
	if len(root.Content) == 0 {
		return nil
	}
	n := r.readValue(root.Content[0], 0)
	if r.tooMuch || n.kind == nullKind {
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
	report      *problems

	tooMuch bool // a limit was exceeded and reported
}

func (r *yamlReader) addError(y *yaml.Node, format string, args ...any) {
	r.report.addError(engine.SourcePosition{File: r.file, Line: r.linesBefore + y.Line, Column: y.Column}, format, args...)
}

func (r *yamlReader) readValue(y *yaml.Node, depth int) *node {
	n := &node{kind: nullKind, line: r.linesBefore + y.Line, column: y.Column}
	r.count++
	if r.tooMuch {
		return n
	}
	r.bytes += len(y.Value)
	if r.count > maxNodes || depth > maxDepth || r.bytes > maxDocument {
		r.tooMuch = true
		r.addError(y, "has more than %d values or %d MiB, or is nested more than %d deep; write it flatter, with fewer aliases", maxNodes, maxDocument>>20, maxDepth)
		return n
	}
	switch y.Kind {
	case yaml.AliasNode:
		return r.readValue(y.Alias, depth+1)
	case yaml.SequenceNode:
		n.kind = listKind
		for _, item := range y.Content {
			n.items = append(n.items, r.readValue(item, depth+1))
		}
	case yaml.MappingNode:
		n.kind = objectKind
		r.readObject(n, y, depth)
	case yaml.ScalarNode:
		r.readScalar(n, y)
	}
	return n
}

func (r *yamlReader) readObject(n *node, y *yaml.Node, depth int) {
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
		case !seen.add(name.Value):
			r.addError(y.Content[i], "field %s is duplicated; keep one", shortenName(name.Value))
			continue
		}
		r.bytes += len(name.Value)
		n.keys = append(n.keys, key{name: name.Value, line: r.linesBefore + y.Content[i].Line, column: y.Content[i].Column})
		n.items = append(n.items, r.readValue(value, depth+1))
	}
}

func (r *yamlReader) readScalar(n *node, y *yaml.Node) {
	switch y.ShortTag() {
	case "!!null":
	case "!!bool":
		var v bool
		if err := y.Decode(&v); err != nil {
			r.addError(y, "is not true or false")
		}
		n.kind, n.scalar = boolKind, strconv.FormatBool(v)
	case "!!int":
		var v int64
		if err := y.Decode(&v); err != nil {
			r.addError(y, "is too large a number")
		}
		n.kind, n.scalar = numberKind, strconv.FormatInt(v, 10)
	case "!!float":
		// No field accepts a fraction, and JSON has no .nan.
		n.kind, n.scalar = numberKind, "0.5"
	case "!!str", "!!timestamp":
		n.kind, n.scalar, n.isBlock = textKind, y.Value, y.Style&yaml.LiteralStyle != 0
	default:
		r.addError(y, "has a type that is not supported; write it as a plain string, number, true or false")
	}
}
