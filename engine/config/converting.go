package config

import (
	"slices"

	"holdfast/engine/config/ignition"
	"holdfast/engine/config/syntax"
)

// convertOld converts a config of Ignition's specification 2. It returns nil
// if that is impossible.
func (d *document) convertOld(n *syntax.Node, version string) *syntax.Node {
	before := len(d.report.Errors)
	s := &syntax.ShapeChecker{File: d.file, Format: "Ignition " + version, Report: d.report}
	s.CheckValue(n, ignition.OldShape(version), d.prefix)
	if len(d.report.Errors) > before {
		return nil
	}
	converted, problems := ignition.Convert(n.AppendJSON(nil))
	for _, p := range problems {
		d.addError(p.Path, "%s", p.Text)
	}
	if len(problems) > 0 {
		return nil
	}
	d.addWarning(syntax.FieldPath{"ignition", "version"}, "is %s: the document is converted to Ignition 3, as by the Machine Config Operator; holdfast render shows the result", version)
	d.origins = converted.Origins
	var inner syntax.Problems
	out := syntax.ReadJSON(d.file, string(converted.JSON), &inner)
	if out == nil {
		d.addError(nil, "cannot be read after its conversion to Ignition 3; simplify the document")
	}
	return out
}

// withoutOldFields removes fields of specification 2 that mean nothing here: a
// file system that is the root file system, and networkd without units. Many
// configs kept them when they were rewritten for specification 3, whose readers
// ignore them.
func (d *document) withoutOldFields(n *syntax.Node) *syntax.Node {
	warn := func(p syntax.FieldPath) {
		d.addWarning(p, "has no effect in Ignition 3; remove it")
	}
	if x := n.Field("networkd"); x != nil && (x.Kind == syntax.NullKind || x.Kind == syntax.ObjectKind && len(x.Keys) == 0) {
		warn(syntax.FieldPath{"networkd"})
		n = n.WithoutField("networkd")
	}
	for _, kind := range []string{"files", "directories", "links"} {
		list := n.Field("storage").Field(kind)
		if list == nil || list.Kind != syntax.ListKind {
			continue
		}
		kept, found := *list, -1
		kept.Items = slices.Clone(list.Items)
		for i, item := range list.Items {
			if item.StringField("filesystem") == "root" {
				kept.Items[i] = item.WithoutField("filesystem")
				if found < 0 {
					found = i
				}
			}
		}
		if found >= 0 {
			warn(syntax.FieldPath{"storage", kind, found, "filesystem"})
			n = n.ReplaceField("storage", n.Field("storage").ReplaceField(kind, &kept))
		}
	}
	return n
}
