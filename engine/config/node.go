package config

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
)

// kind is the type of a node.
type kind string

const (
	nullKind   kind = "null"
	boolKind   kind = "true or false"
	numberKind kind = "a number"
	textKind   kind = "a string"
	listKind   kind = "a list"
	objectKind kind = "an object"
)

// node is one JSON or YAML value of a document, with its position in the text.
type node struct {
	kind    kind
	line    int
	column  int
	isBlock bool   // YAML block scalar: its text begins on the next line
	scalar  string // decoded text; numbers and booleans in JSON notation
	keys    []key  // field names of an object; items[i] is the value of keys[i]
	items   []*node
}

// key is the name of a field and its position.
type key struct {
	name   string
	line   int
	column int
}

func (n *node) field(name string) *node {
	if n == nil || n.kind != objectKind {
		return nil
	}
	for i, k := range n.keys {
		if k.name == name {
			return n.items[i]
		}
	}
	return nil
}

func (n *node) stringField(name string) string {
	if v := n.field(name); v != nil && v.kind == textKind {
		return v.scalar
	}
	return ""
}

func (n *node) withoutField(name string) *node {
	if n.field(name) == nil {
		return n
	}
	out := &node{kind: n.kind, line: n.line, column: n.column}
	for i, k := range n.keys {
		if k.name != name {
			out.keys, out.items = append(out.keys, k), append(out.items, n.items[i])
		}
	}
	return out
}

// replaceField returns a copy of an object with another value for one of its fields.
func (n *node) replaceField(name string, value *node) *node {
	out := *n
	out.items = slices.Clone(n.items)
	for i, k := range n.keys {
		if k.name == name {
			out.items[i] = value
		}
	}
	return &out
}

// dropLongText removes long strings to free memory. Later problems need only the
// places in the node.
func (n *node) dropLongText() {
	if len(n.scalar) > shortText {
		n.scalar = ""
	}
	for _, item := range n.items {
		item.dropLongText()
	}
}

// namesLocalFile reports whether any field "local" of a Butane document names
// a file of the same folder.
func (n *node) namesLocalFile(file string) bool {
	for i, v := range n.items {
		if v.kind == textKind && i < len(n.keys) && n.keys[i].name == "local" && path.Clean(v.scalar) == file || v.namesLocalFile(file) {
			return true
		}
	}
	return false
}

// fieldPath is the path from a node to one inside it. An element is the name of a
// field or an index.
type fieldPath []any

func (p fieldPath) with(steps ...any) fieldPath {
	return append(p[:len(p):len(p)], steps...)
}

// String formats the path, for example as storage.files[3].mode.
func (p fieldPath) String() string {
	var b strings.Builder
	for _, step := range p {
		switch s := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(s) + "]")
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(shortenName(s))
		}
	}
	return b.String()
}

func shortenName(name string) string {
	const most = 64
	if len(name) > most {
		return name[:most] + "…"
	}
	return name
}

// followPath follows a path as far as nodes exist. It returns the last node
// and the number of elements followed.
func (n *node) followPath(p fieldPath) (*node, int) {
	for i, step := range p {
		var next *node
		switch s := step.(type) {
		case int:
			if n.kind == listKind && s >= 0 && s < len(n.items) {
				next = n.items[s]
			}
		case string:
			next = n.field(s)
		}
		if next == nil {
			return n, i
		}
		n = next
	}
	return n, len(p)
}

func (n *node) fieldKey(p fieldPath) *key {
	if len(p) == 0 {
		return nil
	}
	parent, depth := n.followPath(p[:len(p)-1])
	if depth < len(p)-1 {
		return nil
	}
	for i := range parent.keys {
		if parent.keys[i].name == p[len(p)-1] {
			return &parent.keys[i]
		}
	}
	return nil
}

func (n *node) appendJSON(b []byte) []byte {
	switch n.kind {
	case nullKind:
		return append(b, "null"...)
	case boolKind, numberKind:
		return append(b, n.scalar...)
	case textKind:
		return appendString(b, n.scalar)
	case listKind:
		b = append(b, '[')
		for i, item := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	}
	b = append(b, '{')
	for i, item := range n.items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, n.keys[i].name), ':')
		b = item.appendJSON(b)
	}
	return append(b, '}')
}

func appendString(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string can always be marshalled
		return append(b, `""`...)
	}
	return append(b, text...)
}
