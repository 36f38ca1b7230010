package filediff

import (
	"bytes"
	"cmp"
	"slices"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
)

// ConfigContents returns the old and new contents of the files and units that
// differ between two configurations.
func ConfigContents(was, is resource.Config, d rules.Diff) []planview.Contents {
	var list []planview.Contents
	for _, c := range d.Changes {
		if c.Kind != engine.FileKind && c.Kind != engine.UnitKind {
			continue
		}
		before, beforeMode := contentsIn(was, c)
		after, afterMode := contentsIn(is, c)
		if bytes.Equal(before, after) {
			continue
		}
		list = append(list, planview.Contents{
			Path: c.Name, Old: before, New: after,
			Withheld: cmp.Or(planview.WithholdReason(before, beforeMode, nil), planview.WithholdReason(after, afterMode, nil)),
		})
	}
	return list
}

func contentsIn(c resource.Config, change rules.Change) (data []byte, mode int) {
	for _, f := range c.Files {
		if change.Kind == engine.FileKind && f.Path == change.Name {
			if mode = -1; f.Mode != nil {
				mode = *f.Mode
			}
			return slices.Concat(f.Contents, f.Append), mode
		}
	}
	for _, u := range c.Units {
		if change.Kind == engine.UnitKind && u.Name == change.Name {
			data = []byte(u.Contents)
			for _, drop := range u.Dropins {
				data = append(data, "# "+drop.Name+"\n"+drop.Contents...)
			}
		}
	}
	return data, -1
}
