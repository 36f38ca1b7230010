package config

import (
	"path"
	"slices"
	"strings"

	"holdfast/engine/config/nodefiles"
	"holdfast/engine/config/readers"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
)

// checkReaders reports files and units that the program which reads them would
// refuse (an error) or ignore (a warning).
func (b *builder) checkReaders() {
	dropins := map[string][]resource.Dropin{} // drop-ins that are files
	for _, f := range b.out.Files {
		if f.Inherit {
			continue
		}
		whole := readers.File{Path: f.Path, Contents: fullContents(f), Mode: *f.Mode, OfRoot: f.Owner.User == "0"}
		b.addFindings("node "+f.Path, readers.CheckFile(whole))
		for _, n := range nodefiles.Check(f.Path, whole.Contents) {
			b.addFindings("node "+f.Path, []readers.Finding{{Field: "contents", Ignored: n.Ignored, Text: n.Text}})
		}
		dir, name := path.Split(f.Path)
		if unit, ok := strings.CutPrefix(dir, hostscript.UnitDir+"/"); ok && path.Ext(name) == ".conf" {
			unit = strings.TrimSuffix(unit, ".d/")
			dropins[unit] = append(dropins[unit], resource.Dropin{Name: name, Contents: string(whole.Contents)})
		}
	}
	for _, u := range b.out.Units {
		if u.Contents == "" {
			continue
		}
		list := slices.Concat(u.Dropins, dropins[u.Name])
		slices.SortFunc(list, func(x, y resource.Dropin) int { return strings.Compare(x.Name, y.Name) })
		unit := readers.Unit{Name: u.Name, Contents: u.Contents, Enabled: isTrue(u.Enabled)}
		for _, d := range list {
			unit.Dropins = append(unit.Dropins, d.Contents)
		}
		b.addFindings("unit "+u.Name, readers.CheckUnit(unit))
	}
}

func (b *builder) addFindings(entry string, list []readers.Finding) {
	for _, f := range list {
		if place := b.places.entryPlace(entry, f.Field); f.Ignored {
			b.problems.AddWarning(place, "%s", f.Text)
		} else {
			b.problems.AddError(place, "%s", f.Text)
		}
	}
}
