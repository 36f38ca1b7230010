package modules

import (
	"bytes"
	"slices"

	"holdfast/engine"
)

// fillInherited fills in the files that begin with what the host has: their
// contents depend on the host. Only what was appended is holdfast's.
func (x *configDiff) fillInherited(c engine.Config) engine.Config {
	c.Files = slices.Clone(c.Files)
	for i := range c.Files {
		f := &c.Files[i]
		if !f.Inherit {
			continue
		}
		whole, rest := x.appendTo(*f)
		f.Digest, f.Base = engine.Digest(whole), x.firstBase(f.Path)
		if f.Base == "" {
			f.Base = engine.Digest(rest)
		}
		x.contents[f.Digest] = whole
	}
	return c
}

// appendTo returns the contents of a file with what is to be appended, and
// what of them is the host's. What was appended before is replaced where it
// is, so that lines that others have added since stay.
func (x *configDiff) appendTo(f engine.File) (whole, rest []byte) {
	n := x.facts.Nodes[f.Path]
	if at, text, found := x.findAppended(f.Path); found {
		rest = at.cutFrom(n.Contents)
		if bytes.Equal(text, f.Append) {
			return n.Contents, rest
		}
		return slices.Concat(n.Contents[:at.from], f.Append, n.Contents[at.to:]), rest
	}
	if at, found := findText(n, f.Append); found { // the host was provisioned so
		return n.Contents, at.cutFrom(n.Contents)
	}
	rest = n.Contents
	if x.wroteWhole(f.Path, n.Digest) {
		rest = n.Base
	}
	return slices.Concat(rest, f.Append), rest
}

// findAppended finds what holdfast has appended to a file: the longest of the
// texts that it has appended, or tried to.
func (x *configDiff) findAppended(path string) (at span, text []byte, found bool) {
	n := x.facts.Nodes[path]
	for _, f := range x.appendedFiles(path) {
		if s, ok := findText(n, f.Append); ok && len(f.Append) > len(text) {
			at, text, found = s, f.Append, true
		}
	}
	return at, text, found
}

// appendedFiles lists what holdfast has appended to a file, or tried to.
func (x *configDiff) appendedFiles(path string) []engine.File {
	var files []engine.File
	add := func(list []engine.File) {
		for _, f := range list {
			if f.Path == path && f.Inherit {
				files = append(files, f)
			}
		}
	}
	if a := x.facts.Applied; a != nil {
		add(a.Config.Files)
	}
	if u := x.unfinishedWrite(); u != nil {
		add(u.Config.Files)
		add(u.Appended)
	}
	return files
}

// wroteWhole reports whether all that is in a file was written by holdfast,
// when the configuration gave its contents.
func (x *configDiff) wroteWhole(path, digest string) bool {
	if x.facts.Applied == nil {
		return false
	}
	return slices.ContainsFunc(recordedConfigs(*x.facts.Applied), func(c engine.Config) bool {
		return slices.ContainsFunc(c.Files, func(f engine.File) bool { return f.Path == path && !f.Inherit && f.Digest == digest })
	})
}

// firstBase is the digest of what a file had from the host when holdfast first
// appended to it; "" if it has not.
func (x *configDiff) firstBase(path string) string {
	for _, f := range x.appendedFiles(path) {
		if f.Base != "" {
			return f.Base
		}
	}
	return ""
}

// remainingContents returns what is to stay of a file that leaves the configuration
// and was only appended to: the lines that others have added to it, and what it
// had before. It is false where nothing but the original is to be put back.
func (x *configDiff) remainingContents(e desiredEntry) (rest []byte, stays bool) {
	n := x.facts.Nodes[e.edit.path]
	if !e.inherit || n.Type != engine.FileNode || n.Contents == nil {
		return nil, false
	}
	rest = n.Contents
	if at, _, found := x.findAppended(e.edit.path); found {
		rest = at.cutFrom(n.Contents)
	}
	if x.facts.Saved[e.edit.path] {
		return rest, !bytes.Equal(rest, n.Base) && engine.Digest(rest) != x.firstBase(e.edit.path)
	}
	return rest, len(rest) > 0
}

// withFoundDigests gives the files of a recorded configuration that were appended to
// the digests that they have on the host, where that is still in them.
func (x *configDiff) withFoundDigests(c engine.Config) engine.Config {
	c.Files = slices.Clone(c.Files)
	for i, f := range c.Files {
		n := x.facts.Nodes[f.Path]
		if _, found := findText(n, f.Append); f.Inherit && n.Type == engine.FileNode && n.Contents != nil && (found || len(f.Append) == 0) {
			c.Files[i].Digest = n.Digest
		}
	}
	return c
}

// span is a part of the contents of a file.
type span struct{ from, to int }

// cutFrom returns the contents without the part. What comes after it begins a line.
func (s span) cutFrom(contents []byte) []byte {
	before, after := contents[:s.from], contents[s.to:]
	if len(before) > 0 && len(after) > 0 && before[len(before)-1] != '\n' {
		before = append(slices.Clone(before), '\n')
	}
	return slices.Concat(before, after)
}

// findText finds a text that was appended to a file: right after what the file had
// before, if that is still there; else where it last makes whole lines; else at
// the end, unless what the file had before is known to have ended a line.
func findText(n engine.Node, text []byte) (span, bool) {
	if len(text) == 0 {
		return span{}, false
	}
	if from := len(n.Base); from > 0 && bytes.HasPrefix(n.Contents, n.Base) && bytes.HasPrefix(n.Contents[from:], text) {
		return span{from, from + len(text)}, true
	}
	for end := len(n.Contents); ; {
		from := bytes.LastIndex(n.Contents[:end], text)
		if from < 0 {
			break
		}
		to := from + len(text)
		if (from == 0 || n.Contents[from-1] == '\n') && (to == len(n.Contents) || text[len(text)-1] == '\n' || n.Contents[to] == '\n') {
			return span{from, to}, true
		}
		end = to - 1
	}
	from := len(n.Contents) - len(text)
	return span{from, len(n.Contents)}, bytes.HasSuffix(n.Contents, text) && !bytes.HasSuffix(n.Base, []byte("\n"))
}

// resolvedConfig is the desired configuration with the digests of such files as they
// become on this host: by them the next plan knows what was written.
func (x *configDiff) resolvedConfig() engine.Config {
	c := x.desired
	c.Files = x.want.Files
	return c
}

// withoutHostDigests leaves these digests out again: documents say nothing of them.
func withoutHostDigests(c engine.Config) engine.Config {
	c.Files = slices.Clone(c.Files)
	for i := range c.Files {
		if c.Files[i].Inherit {
			c.Files[i].Digest, c.Files[i].Base = "", ""
		}
	}
	return c
}
