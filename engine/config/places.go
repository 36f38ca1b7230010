package config

import (
	"slices"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"holdfast/engine/config/syntax"
	"holdfast/engine/resource"
)

// places maps each entry of a merged config to the last document that contains
// it.
type places map[string]origin

type origin struct {
	doc *document
	at  syntax.FieldPath
}

// entry is one element of a list of an Ignition config.
type entry struct {
	key string // unique in the config
	at  syntax.FieldPath
}

func listEntries(c types.Config) []entry {
	var all []entry
	add := func(kind, name string, at ...any) { all = append(all, entry{kind + " " + name, at}) }
	for i, f := range c.Storage.Files {
		add("node", f.Path, "storage", "files", i)
	}
	for i, d := range c.Storage.Directories {
		add("node", d.Path, "storage", "directories", i)
	}
	for i, l := range c.Storage.Links {
		add("node", l.Path, "storage", "links", i)
	}
	for i, x := range c.Storage.Disks {
		add("disks", x.Device, "storage", "disks", i)
	}
	for i, x := range c.Storage.Filesystems {
		add("filesystems", x.Device, "storage", "filesystems", i)
	}
	for i, x := range c.Storage.Raid {
		add("raid", x.Name, "storage", "raid", i)
	}
	for i, x := range c.Storage.Luks {
		add("luks", x.Name, "storage", "luks", i)
	}
	for i, u := range c.Systemd.Units {
		add("unit", u.Name, "systemd", "units", i)
	}
	for i, u := range c.Passwd.Users {
		add("user", u.Name, "passwd", "users", i)
	}
	for i, g := range c.Passwd.Groups {
		add("group", g.Name, "passwd", "groups", i)
	}
	return all
}

func locateEntries(docs []*document) places {
	known := places{}
	for _, d := range docs {
		for _, e := range listEntries(d.ignition) {
			known[e.key] = origin{d, e.at}
		}
		for i, a := range d.ignition.KernelArguments.ShouldNotExist {
			known["without "+string(a)] = origin{d, syntax.FieldPath{"kernelArguments", "shouldNotExist", i}}
		}
	}
	return known
}

func (k places) entryPlace(key string, field ...any) resource.SourcePosition {
	o, ok := k[key]
	if !ok {
		return resource.SourcePosition{}
	}
	return o.doc.ignitionPlace(o.at.With(field...))
}

func (k places) pathPlace(merged types.Config, p syntax.FieldPath) resource.SourcePosition {
	if len(p) >= 3 {
		for _, e := range listEntries(merged) {
			if e.at[0] == p[0] && e.at[1] == p[1] && e.at[2] == p[2] {
				return k.entryPlace(e.key, p[3:]...)
			}
		}
	}
	return resource.SourcePosition{Path: p.String()}
}

// settingPlaces returns the place of each system setting in the last document
// that has it. For the OS image, it is the document whose image is in effect.
func (b *builder) settingPlaces() map[string]resource.SourcePosition {
	found := map[string]resource.SourcePosition{}
	note := func(name string, said bool, at func() resource.SourcePosition) {
		if _, known := found[name]; said && !known {
			found[name] = at()
		}
	}
	for _, d := range slices.Backward(b.docs) {
		spec := func(p ...any) func() resource.SourcePosition {
			return func() resource.SourcePosition { return d.specPlace(p...) }
		}
		ign := func(p ...any) func() resource.SourcePosition {
			return func() resource.SourcePosition { return d.ignitionPlace(p) }
		}
		s, k := d.spec, d.ignition.KernelArguments
		note("osImageURL", s.OSImageURL != "" && s.OSImageURL == b.spec.OSImageURL, spec("osImageURL"))
		note("baseOSExtensionsContainerImage", s.BaseOSExtensionsContainerImage != "", spec("baseOSExtensionsContainerImage"))
		note("extensions", len(s.Extensions) > 0, spec("extensions", 0))
		note("kernelType", s.hasOtherKernel(), spec("kernelType"))
		note("kernelArguments", len(s.KernelArguments) > 0, spec("kernelArguments", 0))
		note("kernelArguments", len(k.ShouldExist) > 0, ign("kernelArguments", "shouldExist", 0))
		note("kernelArguments", len(k.ShouldNotExist) > 0, ign("kernelArguments", "shouldNotExist", 0))
		note("fips", s.FIPS, spec("fips"))
	}
	return found
}
