package config

import (
	"github.com/coreos/ignition/v2/config/v3_5/types"

	"holdfast/engine"
	"holdfast/engine/config/syntax"
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

func (k places) entryPlace(key string, field ...any) engine.SourcePosition {
	o, ok := k[key]
	if !ok {
		return engine.SourcePosition{}
	}
	return o.doc.ignitionPlace(o.at.With(field...))
}

func (k places) pathPlace(merged types.Config, p syntax.FieldPath) engine.SourcePosition {
	if len(p) >= 3 {
		for _, e := range listEntries(merged) {
			if e.at[0] == p[0] && e.at[1] == p[1] && e.at[2] == p[2] {
				return k.entryPlace(e.key, p[3:]...)
			}
		}
	}
	return engine.SourcePosition{Path: p.String()}
}
