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
	for _, was := range x.was.Files {
		if was.Path != f.Path || !was.Inherit {
			continue
		}
		if x.seen.Saved[f.Path] {
			return n.Base
		}
		if rest, ok := bytes.CutSuffix(n.Contents, was.Append); ok {
			return rest
		}
	}
	return n.Contents
}
