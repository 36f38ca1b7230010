package modules

import (
	"bytes"
	"slices"

	"holdfast/engine"
)

// inherited fills in the files that begin with what the host has: their
// contents, mode and owner depend on the host. What a file had before it got
// something appended is its kept original, or what is left when that is taken
// off again.
func (x *configDiff) inherited(c engine.Config) engine.Config {
	c.Files = slices.Clone(c.Files)
	for i := range c.Files {
		f := &c.Files[i]
		if !f.Inherit {
			continue
		}
		n := x.seen.Nodes[f.Path]
		whole := append(slices.Clone(x.inheritance(*f, n)), f.Append...)
		f.Digest = engine.Digest(whole)
		x.contents[f.Digest] = whole
	}
	return c
}

// inheritance is what the file has from the host.
func (x *configDiff) inheritance(f engine.File, n engine.Node) []byte {
	if rest, ok := bytes.CutSuffix(n.Contents, f.Append); ok {
		return rest
	}
	for _, was := range x.appended(f.Path) {
		if x.seen.Saved[f.Path] {
			return n.Base
		}
		if rest, ok := bytes.CutSuffix(n.Contents, was.Append); ok {
			return rest
		}
	}
	return n.Contents
}

// appended lists what holdfast has appended to a file, or tried to.
func (x *configDiff) appended(path string) []engine.File {
	var files []engine.File
	add := func(list []engine.File) {
		for _, f := range list {
			if f.Path == path && f.Inherit {
				files = append(files, f)
			}
		}
	}
	if a := x.seen.Applied; a != nil {
		add(a.Config.Files)
	}
	if u := x.unfinished(); u != nil {
		add(u.Config.Files)
		add(u.Appended)
	}
	return files
}

// resolved is the desired configuration with the digests of such files as they
// become on this host: by them the next plan knows what was written.
func (x *configDiff) resolved() engine.Config {
	c := x.desired
	c.Files = x.want.Files
	return c
}

// asDocumented leaves these digests out again: documents say nothing of them.
func asDocumented(c engine.Config) engine.Config {
	c.Files = slices.Clone(c.Files)
	for i := range c.Files {
		if c.Files[i].Inherit {
			c.Files[i].Digest = ""
		}
	}
	return c
}
