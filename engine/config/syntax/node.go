// Package syntax parses JSON and YAML into trees with a place for each value, and collects the problems of a document.
package syntax

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Kind is the type of a node.
type Kind string

const (
	NullKind   Kind = "null"
	BoolKind   Kind = "true or false"
	NumberKind Kind = "a number"
	TextKind   Kind = "a string"
	ListKind   Kind = "a list"
	ObjectKind Kind = "an object"
)

// Node is one JSON or YAML value of a document, with its position in the text.
type Node struct {
	Kind    Kind
	Line    int
	Column  int
	IsBlock bool   // YAML block scalar: its text begins on the next line
	Scalar  string // decoded text; numbers and booleans in JSON notation
	Keys    []Key  // field names of an object; Items[i] is the value of Keys[i]
	Items   []*Node
}

// Key is the name of a field and its position.
type Key struct {
	Name   string
	Line   int
	Column int
}

// Field returns the value of a field, or nil.
func (n *Node) Field(name string) *Node {
	if n == nil || n.Kind != ObjectKind {
		return nil
	}
	for i, k := range n.Keys {
		if k.Name == name {
			return n.Items[i]
		}
	}
	return nil
}

// StringField returns the text of a field, or "".
func (n *Node) StringField(name string) string {
	if v := n.Field(name); v != nil && v.Kind == TextKind {
		return v.Scalar
	}
	return ""
}

// WithoutField returns a copy of an object without one of its fields.
func (n *Node) WithoutField(name string) *Node {
	if n.Field(name) == nil {
		return n
	}
	out := &Node{Kind: n.Kind, Line: n.Line, Column: n.Column}
	for i, k := range n.Keys {
		if k.Name != name {
			out.Keys, out.Items = append(out.Keys, k), append(out.Items, n.Items[i])
		}
	}
	return out
}

// ReplaceField returns a copy of an object with another value for one of its fields.
func (n *Node) ReplaceField(name string, value *Node) *Node {
	out := *n
	out.Items = slices.Clone(n.Items)
	for i, k := range n.Keys {
		if k.Name == name {
			out.Items[i] = value
		}
	}
	return &out
}

// DropLongText removes long strings to free memory. Later problems need only the
// places in the node.
func (n *Node) DropLongText() {
	if len(n.Scalar) > shortText {
		n.Scalar = ""
	}
	for _, item := range n.Items {
		item.DropLongText()
	}
}

// CountValues returns the number of values in the tree.
func (n *Node) CountValues() int {
	count := 1
	for _, item := range n.Items {
		count += item.CountValues()
	}
	return count
}

// NamesLocalFile reports whether any field "local" of a Butane document names
// a file of the same folder.
func (n *Node) NamesLocalFile(file string) bool {
	for i, v := range n.Items {
		if v.Kind == TextKind && i < len(n.Keys) && n.Keys[i].Name == "local" && path.Clean(v.Scalar) == file || v.NamesLocalFile(file) {
			return true
		}
	}
	return false
}

// FieldPath is the path from a node to one inside it. An element is the name of a
// field or an index.
type FieldPath []any

// With returns the path with more steps.
func (p FieldPath) With(steps ...any) FieldPath {
	return append(p[:len(p):len(p)], steps...)
}

// String formats the path, for example as storage.files[3].mode.
func (p FieldPath) String() string {
	var b strings.Builder
	for _, step := range p {
		switch s := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(s) + "]")
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(ShortenName(s))
		}
	}
	return b.String()
}

// ShortenName makes a name from a document safe and short for messages.
func ShortenName(name string) string {
	const most = 64
	if len(name) > most {
		return name[:most] + "…"
	}
	return name
}

// FollowPath follows a path as far as nodes exist. It returns the last node
// and the number of elements followed.
func (n *Node) FollowPath(p FieldPath) (*Node, int) {
	for i, step := range p {
		var next *Node
		switch s := step.(type) {
		case int:
			if n.Kind == ListKind && s >= 0 && s < len(n.Items) {
				next = n.Items[s]
			}
		case string:
			next = n.Field(s)
		}
		if next == nil {
			return n, i
		}
		n = next
	}
	return n, len(p)
}

// FieldKey returns the name of the field at a path with its position, or nil.
func (n *Node) FieldKey(p FieldPath) *Key {
	if len(p) == 0 {
		return nil
	}
	parent, depth := n.FollowPath(p[:len(p)-1])
	if depth < len(p)-1 {
		return nil
	}
	for i := range parent.Keys {
		if parent.Keys[i].Name == p[len(p)-1] {
			return &parent.Keys[i]
		}
	}
	return nil
}

// AppendJSON appends the value as JSON.
func (n *Node) AppendJSON(b []byte) []byte {
	switch n.Kind {
	case NullKind:
		return append(b, "null"...)
	case BoolKind, NumberKind:
		return append(b, n.Scalar...)
	case TextKind:
		return AppendString(b, n.Scalar)
	case ListKind:
		b = append(b, '[')
		for i, item := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.AppendJSON(b)
		}
		return append(b, ']')
	case ObjectKind:
		b = append(b, '{')
		for i, item := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(AppendString(b, n.Keys[i].Name), ':')
			b = item.AppendJSON(b)
		}
		return append(b, '}')
	}
	return append(b, "null"...) // there is no other kind
}

// AppendString appends a text as JSON.
func AppendString(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string can always be marshalled
		return append(b, `""`...)
	}
	return append(b, text...)
}

// OptionalString returns the text of a field, or nil.
func (n *Node) OptionalString(name string) *string {
	if v := n.Field(name); v != nil && v.Kind == TextKind {
		return &v.Scalar
	}
	return nil
}

// OptionalInt returns the number of a field, or nil.
func (n *Node) OptionalInt(name string) *int {
	if v := n.Field(name); v != nil && v.Kind == NumberKind {
		if i, err := strconv.Atoi(v.Scalar); err == nil {
			return &i
		}
	}
	return nil
}

// OptionalBool returns the value of a field that is true or false, or nil.
func (n *Node) OptionalBool(name string) *bool {
	if v := n.Field(name); v != nil && v.Kind == BoolKind {
		is := v.Scalar == "true"
		return &is
	}
	return nil
}

// StringList returns the texts of a list.
func (n *Node) StringList(name string) []string {
	var list []string
	if v := n.Field(name); v != nil {
		for _, item := range v.Items {
			list = append(list, item.Scalar)
		}
	}
	return list
}
