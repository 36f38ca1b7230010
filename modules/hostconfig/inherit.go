package hostconfig

import (
	"bytes"
	"slices"

	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/record"
)

// fillInherited computes the contents of files that text is appended to. They
// depend on the files of the host. holdfast owns only the appended text.
func (x *configDiff) fillInherited(c resource.Config) resource.Config {
	if !inheritsAny(c.Files) {
		return c
	}
	c.Files = slices.Clone(c.Files)
	for i := range c.Files {
		f := &c.Files[i]
		if !f.Inherit {
			continue
		}
		whole, rest := x.appendTo(*f)
		f.Digest, f.Base = resource.Digest(whole), x.firstBase(f.Path)
		if f.Base == "" {
			f.Base = resource.Digest(rest)
		}
		x.contents[f.Digest] = whole
	}
	return c
}

// appendTo returns the contents of a file after appending (whole), and the part
// of them that belongs to the host (rest). It replaces text that was appended
// earlier where it stands, so that lines that others have added stay.
func (x *configDiff) appendTo(f resource.File) (whole, rest []byte) {
	n := x.facts.Nodes[f.Path]
	if at, text, found := x.findAppended(f.Path); found {
		rest = at.cutFrom(n.Contents)
		if bytes.Equal(text, f.Append) {
			return n.Contents, rest
		}
		return slices.Concat(n.Contents[:at.from], f.Append, n.Contents[at.to:]), rest
	}
	if at, found := findText(n, f.Append); found { // the host was provisioned with the text
		return n.Contents, at.cutFrom(n.Contents)
	}
	rest = n.Contents
	if x.wroteWhole(f.Path, n.Digest) {
		rest = n.Base
	}
	return slices.Concat(rest, f.Append), rest
}

func (x *configDiff) findAppended(path string) (at span, text []byte, found bool) {
	n := x.facts.Nodes[path]
	for _, f := range x.appendedFiles(path) {
		if s, ok := findText(n, f.Append); ok && len(f.Append) > len(text) {
			at, text, found = s, f.Append, true
		}
	}
	return at, text, found
}

func (x *configDiff) appendedFiles(path string) []resource.File {
	var files []resource.File
	add := func(list []resource.File) {
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

func (x *configDiff) wroteWhole(path, digest string) bool {
	if x.facts.Applied == nil {
		return false
	}
	return slices.ContainsFunc(record.Configs(*x.facts.Applied), func(c resource.Config) bool {
		return slices.ContainsFunc(c.Files, func(f resource.File) bool { return f.Path == path && !f.Inherit && f.Digest == digest })
	})
}

func (x *configDiff) firstBase(path string) string {
	for _, f := range x.appendedFiles(path) {
		if f.Base != "" {
			return f.Base
		}
	}
	return ""
}

// remainingContents returns the contents that stay when a file to which text was
// only appended leaves the configuration: the contents before appending, and lines
// that others have added. stays is false if the script must remove the
// file or restore its original.
func (x *configDiff) remainingContents(e desiredEntry) (rest []byte, stays bool) {
	n := x.facts.Nodes[e.edit.path]
	if !e.inherit || n.Type != resource.PathFile || n.Contents == nil {
		return nil, false
	}
	rest = n.Contents
	if at, _, found := x.findAppended(e.edit.path); found {
		rest = at.cutFrom(n.Contents)
	}
	if x.facts.Saved[e.edit.path] {
		return rest, !bytes.Equal(rest, n.Base) && resource.Digest(rest) != x.firstBase(e.edit.path)
	}
	return rest, len(rest) > 0
}

// withFoundDigests sets the digests of recorded files that text was appended to.
// It takes a digest from the host if the file still has the appended text.
func (x *configDiff) withFoundDigests(c resource.Config) resource.Config {
	if !inheritsAny(c.Files) {
		return c
	}
	c.Files = slices.Clone(c.Files)
	for i, f := range c.Files {
		n := x.facts.Nodes[f.Path]
		if _, found := findText(n, f.Append); f.Inherit && n.Type == resource.PathFile && n.Contents != nil && (found || len(f.Append) == 0) {
			c.Files[i].Digest = n.Digest
		}
	}
	return c
}

// span is a part of the contents of a file.
type span struct{ from, to int }

// cutFrom returns the contents without the span. If text follows the span, it
// starts on a new line.
func (s span) cutFrom(contents []byte) []byte {
	before, after := contents[:s.from], contents[s.to:]
	if len(before) > 0 && len(after) > 0 && before[len(before)-1] != '\n' {
		before = append(slices.Clone(before), '\n')
	}
	return slices.Concat(before, after)
}

// findText looks for the appended text in these places, in order: directly after
// the contents before appending; the last place where the text forms whole lines;
// the end of the file. If the contents before appending end with a newline, it does
// not try the end of the file: the text would form whole lines there.
func findText(n resource.PathFacts, text []byte) (span, bool) {
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

func (x *configDiff) resolvedConfig() resource.Config {
	c := x.desired
	c.Files = x.want.Files
	return c
}

func withoutHostDigests(c resource.Config) resource.Config {
	if !inheritsAny(c.Files) {
		return c
	}
	c.Files = slices.Clone(c.Files)
	for i := range c.Files {
		if c.Files[i].Inherit {
			c.Files[i].Digest, c.Files[i].Base = "", ""
		}
	}
	return c
}

func inheritsAny(files []resource.File) bool {
	return slices.ContainsFunc(files, func(f resource.File) bool { return f.Inherit })
}
