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

// node is one value of a document, whether JSON or YAML, with its place in
// the text.
type node struct {
	kind    kind
	line    int
	column  int
	isBlock bool   // of YAML: text whose first line is the one after this
	scalar  string // text as it is; numbers and booleans in JSON
	keys    []key  // of an object, beside items
	items   []*node
}

// key is the name of a field and where it is written.
type key struct {
	name   string
	line   int
	column int
}

// field gives the value of a field, or nil.
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

// stringField gives the string a field has, or "".
func (n *node) stringField(name string) string {
	if v := n.field(name); v != nil && v.kind == textKind {
		return v.scalar
	}
	return ""
}

// withoutField returns an object without one field; the object itself stays.
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

// withField returns an object with another value in a field that it has.
func (n *node) withField(name string, value *node) *node {
	out := *n
	out.items = slices.Clone(n.items)
	for i, k := range n.keys {
		if k.name == name {
			out.items[i] = value
		}
	}
	return &out
}

// dropLongText lets go of long strings, once the document was read: what is left is
// for the places of what is said later.
func (n *node) dropLongText() {
	if len(n.scalar) > shortText {
		n.scalar = ""
	}
	for _, item := range n.items {
		item.dropLongText()
	}
}

// namesLocalFile reports whether a Butane document takes in a file that is beside it:
// its name is that of a field local, anywhere.
func (n *node) namesLocalFile(file string) bool {
	for i, v := range n.items {
		if v.kind == textKind && i < len(n.keys) && n.keys[i].name == "local" && path.Clean(v.scalar) == file || v.namesLocalFile(file) {
			return true
		}
	}
	return false
}

// fieldPath lead from one node to another: names of fields and indexes.
type fieldPath []any

// with is the path extended; the path itself stays as it is.
func (p fieldPath) with(steps ...any) fieldPath {
	return append(p[:len(p):len(p)], steps...)
}

// String writes the path as storage.files[3].mode.
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

// shortenName keeps a name that somebody made up from filling the screen.
func shortenName(name string) string {
	const most = 64
	if len(name) > most {
		return name[:most] + "…"
	}
	return name
}

// followPath goes as far along the path as there are nodes. It gives the last one
// and how many steps that took.
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

// fieldKey gives the key of the field a path ends in, or nil.
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

// appendJSON writes the node as JSON.
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
