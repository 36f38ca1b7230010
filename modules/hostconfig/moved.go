package hostconfig

import (
	"slices"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// withoutMoved returns a configuration without the parts whose paths another
// resource of the documents has now, such as a file that becomes a drop-in. Their
// paths do not leave the host: only the other resource tells how they change.
func (x *configDiff) withoutMoved(c resource.Config) resource.Config {
	now, was := ownersOf(x.entries), ownersOf(entriesOf(c))
	moved := func(domain engine.Kind, name, path string) bool {
		s := subject{domain, name}
		other, stays := now[path]
		return stays && other != s && !x.subjects.needsRedo(s)
	}
	c.Files = dropMatching(c.Files, func(f resource.File) bool { return moved(engine.FileKind, f.Path, f.Path) })
	c.Directories = dropMatching(c.Directories, func(d resource.Directory) bool { return moved(engine.DirectoryKind, d.Path, d.Path) })
	c.Links = dropMatching(c.Links, func(l resource.Link) bool { return moved(engine.LinkKind, l.Path, l.Path) })
	units := make([]resource.Unit, 0, len(c.Units))
	for _, u := range c.Units {
		file := unitDir + u.Name
		had := len(unitEntries(u)) > 0
		if moved(engine.UnitKind, u.Name, file) {
			u.Contents = ""
			if isTrue(u.Masked) {
				u.Masked = nil
			}
		}
		u.Dropins = slices.DeleteFunc(slices.Clone(u.Dropins), func(d resource.Dropin) bool {
			return moved(engine.UnitKind, u.Name, file+".d/"+d.Name)
		})
		if had && len(unitEntries(u)) == 0 && u.Enabled == nil && u.Masked == nil {
			continue
		}
		units = append(units, x.withMovedDropins(u, was))
	}
	c.Units = units
	return c
}

// withMovedDropins returns a unit of the earlier configuration with the drop-ins
// that another resource had, and that the host has as the documents want them.
func (x *configDiff) withMovedDropins(u resource.Unit, was map[string]subject) resource.Unit {
	for _, w := range x.want.Units {
		if w.Name != u.Name {
			continue
		}
		for _, d := range w.Dropins {
			e := unitEntries(resource.Unit{Name: w.Name, Dropins: []resource.Dropin{d}})[0]
			other, had := was[e.path]
			if had && other != e.about && !x.subjects.needsRedo(other) && e.matchesHost(x.facts.Nodes) {
				u.Dropins = append(slices.Clone(u.Dropins), d)
			}
		}
	}
	return u
}
