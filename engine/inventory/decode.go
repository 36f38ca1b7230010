package inventory

import (
	"cmp"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"holdfast/engine/textutil"
)

// node is one block, checked against the schema but not evaluated.
type node struct {
	kind   block
	label  string
	at     hcl.Range // of the block's head
	args   map[string]*hclsyntax.Attribute
	blocks []*node
	hosts  *piece // host blocks that are not parsed yet; then only kind is set
}

func (n *node) childBlocks(name string) []*node {
	var out []*node
	for _, c := range n.blocks {
		if c.kind.name == name {
			out = append(out, c)
		}
	}
	return out
}

func (n *node) childBlock(name string) *node {
	for _, c := range n.blocks {
		if c.kind.name == name {
			return c
		}
	}
	return nil
}

func (l *loader) decodeFiles() *node {
	root := &node{kind: inventorySchema(), args: map[string]*hclsyntax.Attribute{}}
	for _, p := range l.parts {
		if p.hosts == nil {
			l.decodeBody(root, p.body)
			continue
		}
		kind, _ := root.kind.findBlock(p.hosts.kind)
		root.blocks = append(root.blocks, &node{kind: kind, hosts: p.hosts})
	}
	return root
}

func (l *loader) decodeBody(n *node, body *hclsyntax.Body) {
	for name, attr := range body.Attributes {
		if n.kind.name == "locals" {
			n.args[name] = attr
		} else if _, known := n.kind.findArgument(name); known {
			n.args[name] = attr
		} else if child, known := n.kind.findBlock(name); known {
			l.addError(attr.NameRange, name+" is a block, not an argument", "write "+child.usageExample(literalText(attr.Expr)))
		} else {
			l.reportUnknown(n.kind, "argument", name, attr.NameRange)
		}
	}
	for _, b := range body.Blocks {
		kind, known := n.kind.findBlock(b.Type)
		if _, argument := n.kind.findArgument(b.Type); argument && !known {
			l.addError(b.TypeRange, b.Type+" is an argument, not a block", "write "+b.Type+" = …")
			continue
		}
		if !known {
			l.reportUnknown(n.kind, "block", b.Type, b.TypeRange)
			continue
		}
		child := &node{kind: kind, at: b.DefRange(), args: map[string]*hclsyntax.Attribute{}}
		if !l.checkLabel(n, child, b) {
			continue
		}
		n.blocks = append(n.blocks, child)
		l.decodeBody(child, b.Body)
		for _, a := range kind.arguments {
			if _, given := child.args[a.name]; a.required && !given {
				l.addError(child.at, fmt.Sprintf("%s has no %s", kind.name, a.name), "add it: "+a.meaning)
			}
		}
	}
}

func (b block) usageExample(label string) string {
	if b.label == "" {
		return b.name + " { … }"
	}
	return fmt.Sprintf("%s %q { … }", b.name, cmp.Or(label, b.label))
}

// literalText returns the value of an expression that is a short text without variables, or "".
func literalText(e hcl.Expression) string {
	const longest = 40
	v, diags := e.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String || !v.IsKnown() || v.IsNull() || len(v.AsString()) > longest {
		return ""
	}
	return v.AsString()
}

// mentionsBlock reports whether a file has a block of that kind. A malformed block counts, and so does an argument with
// the name of the block.
func (l *loader) mentionsBlock(kind string) bool {
	for _, p := range l.parts {
		body := p.body
		if body == nil {
			continue
		}
		if body.Attributes[kind] != nil {
			return true
		}
		for _, b := range body.Blocks {
			if b.Type == kind {
				return true
			}
		}
	}
	return false
}

func (l *loader) checkLabel(parent, child *node, b *hclsyntax.Block) bool {
	kind := child.kind
	switch {
	case kind.label == "" && len(b.Labels) > 0:
		l.addError(b.LabelRanges[0], kind.name+" has no label", "write "+kind.usageExample(""))
		return false
	case kind.label != "" && len(b.Labels) != 1:
		l.addError(child.at, kind.name+" needs one label", "write "+kind.usageExample(""))
		return false
	case kind.label != "":
		child.label = b.Labels[0]
		child.at = b.LabelRanges[0]
	}
	if kind.many {
		return true
	}
	if first := parent.childBlock(kind.name); first != nil {
		l.addError(child.at, "a second "+kind.name+" block", fmt.Sprintf("there is one already at %s:%d", first.at.Filename, first.at.Start.Line))
		return false
	}
	return true
}

func (l *loader) reportUnknown(in block, what, name string, at hcl.Range) {
	if isUnsupported(in.name, name) {
		l.addError(at, name+" is not supported by this version", "it would have no effect; remove it")
		return
	}
	detail := fmt.Sprintf("a %s block can have %s", in.name, joinNames(in.knownNames()))
	if in.name == "inventory" {
		detail = "an inventory can have " + joinNames(in.knownNames())
	}
	names := in.knownNames()
	if what == "block" { // an argument in its place would be a different mistake
		names = in.blockNames()
	}
	if near := cmp.Or(in.findOtherWord(name), textutil.Nearest(name, names)); near != "" {
		detail = fmt.Sprintf("did you mean %q?", near)
	}
	l.addError(at, fmt.Sprintf("unknown %s %q", what, name), detail)
}

func (b block) knownNames() []string {
	var words []string
	for _, a := range b.arguments {
		words = append(words, a.name)
	}
	return append(words, b.blockNames()...)
}

func (b block) blockNames() []string {
	var words []string
	for _, c := range b.blocks {
		words = append(words, c.name)
	}
	return words
}
