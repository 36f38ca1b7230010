package syntax

import (
	"slices"

	"holdfast/engine/resource"
)

// TextSize returns the total size of the values of a tree.
func (n *Node) TextSize() int {
	size := len(n.Scalar) + 1
	for i, item := range n.Items {
		if size += item.TextSize(); i < len(n.Keys) {
			size += len(n.Keys[i].Name)
		}
	}
	return size
}

// WithoutPath returns a copy of a tree without the field at a path. The indexes
// of lists stay the same.
func (n *Node) WithoutPath(p FieldPath) *Node {
	if len(p) == 0 {
		return n
	}
	switch s := p[0].(type) {
	case string:
		child := n.Field(s)
		switch {
		case child == nil:
		case len(p) == 1:
			return n.WithoutField(s)
		default:
			return n.ReplaceField(s, child.WithoutPath(p[1:]))
		}
	case int:
		if n.Kind == ListKind && s >= 0 && s < len(n.Items) && len(p) > 1 {
			out := *n
			out.Items = slices.Clone(n.Items)
			out.Items[s] = n.Items[s].WithoutPath(p[1:])
			return &out
		}
	}
	return n
}

// LeavesOfLine returns the paths of the innermost fields whose values begin in
// this line. at is the path of n.
func (n *Node) LeavesOfLine(line int, at FieldPath) []FieldPath {
	var list []FieldPath
	for i, item := range n.Items {
		p := at.With(i)
		if n.Kind == ObjectKind {
			p = at.With(n.Keys[i].Name)
		}
		inner := item.LeavesOfLine(line, p)
		if len(inner) == 0 && item.Line == line && n.Kind == ObjectKind {
			inner = []FieldPath{p}
		}
		list = append(list, inner...)
	}
	return list
}

// SilencePlace drops further errors at the place of a value.
func (p *Problems) SilencePlace(file string, n *Node) {
	p.silencePlace(resource.SourcePosition{File: file, Line: n.Line, Column: n.Column})
}
