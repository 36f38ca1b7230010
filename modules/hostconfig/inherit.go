package hostconfig

import (
	"bytes"
	"cmp"
	"slices"

	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/record"
)

// appendedTexts are the texts that configurations append to files of a host.
type appendedTexts struct{ facts resource.ConfigFacts }

// fillInherited returns a configuration with the digests of files that text is
// appended to, and their contents by digest. They depend on the files of the host.
// holdfast owns only the appended text.
func (t appendedTexts) fillInherited(c resource.Config) (resource.Config, map[string][]byte) {
	if !inheritsAny(c.Files) {
		return c, nil
	}
	contents := map[string][]byte{}
	c.Files = slices.Clone(c.Files)
	for i := range c.Files {
		f := &c.Files[i]
		if !f.Inherit {
			continue
		}
		whole, rest := t.appendTo(*f)
		f.Digest, f.Base = resource.Digest(whole), cmp.Or(t.firstBase(f.Path), resource.Digest(rest))
		contents[f.Digest] = whole
	}
	return c, contents
}

// appendTo returns the contents of a file after appending (whole), and the part
// of them that belongs to the host (rest). It replaces text that was appended
// earlier where it stands, so that lines that others have added stay.
func (t appendedTexts) appendTo(f resource.File) (whole, rest []byte) {
	n := t.facts.Nodes[f.Path]
	if at, text, found := t.findAppended(f.Path); found {
		rest = at.cutFrom(n.Contents)
		if bytes.Equal(text, f.Append) {
			return n.Contents, rest
		}
		return slices.Concat(joinLine(n.Contents[:at.from], f.Append), n.Contents[at.to:]), rest
	}
	if at, found := findText(n, f.Append, t.firstBase(f.Path)); found { // the host was provisioned with the text
		return n.Contents, at.cutFrom(n.Contents)
	}
	rest = n.Contents
	if t.wroteWhole(f.Path, n.Digest) {
		rest = n.Base
	}
	return joinLine(rest, f.Append), rest
}

// joinLine returns contents and a text after them. The text starts on a new line
// and ends with a newline, so that neither is glued to lines of others.
func joinLine(contents, text []byte) []byte {
	if len(text) == 0 {
		return contents
	}
	joined := make([]byte, 0, len(contents)+len(text)+2)
	joined = append(joined, contents...)
	if len(contents) > 0 && contents[len(contents)-1] != '\n' {
		joined = append(joined, '\n')
	}
	if joined = append(joined, text...); text[len(text)-1] != '\n' {
		joined = append(joined, '\n')
	}
	return joined
}

func (t appendedTexts) findAppended(path string) (at span, text []byte, found bool) {
	n := t.facts.Nodes[path]
	for _, f := range t.appendedFiles(path) {
		if s, ok := findText(n, f.Append, cmp.Or(f.Base, t.firstBase(path))); ok && len(f.Append) > len(text) {
			at, text, found = s, f.Append, true
		}
	}
	return at, text, found
}

func (t appendedTexts) appendedFiles(path string) []resource.File {
	var files []resource.File
	add := func(list []resource.File) {
		for _, f := range list {
			if f.Path == path && f.Inherit {
				files = append(files, f)
			}
		}
	}
	if a := t.facts.Applied; a != nil {
		add(a.Config.Files)
	}
	if u := unfinishedWrite(t.facts.Applied); u != nil {
		add(u.Config.Files)
		add(u.Appended)
	}
	return files
}

func (t appendedTexts) wroteWhole(path, digest string) bool {
	if t.facts.Applied == nil {
		return false
	}
	return slices.ContainsFunc(record.Configs(*t.facts.Applied), func(c resource.Config) bool {
		return slices.ContainsFunc(c.Files, func(f resource.File) bool { return f.Path == path && !f.Inherit && f.Digest == digest })
	})
}

func (t appendedTexts) firstBase(path string) string {
	for _, f := range t.appendedFiles(path) {
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
func (t appendedTexts) remainingContents(e desiredEntry) (rest []byte, stays bool) {
	n := t.facts.Nodes[e.path]
	if !e.inherit || n.Type != resource.PathFile || n.Contents == nil {
		return nil, false
	}
	rest = n.Contents
	if at, _, found := t.findAppended(e.path); found {
		rest = at.cutFrom(n.Contents)
	}
	if t.facts.Saved[e.path] {
		return rest, !bytes.Equal(rest, n.Base) && resource.Digest(rest) != t.firstBase(e.path)
	}
	return rest, len(rest) > 0
}

// withFoundDigests sets the digests of recorded files that text was appended to.
// It takes a digest from the host if the file still has the appended text.
func (t appendedTexts) withFoundDigests(c resource.Config) resource.Config {
	if !inheritsAny(c.Files) {
		return c
	}
	c.Files = slices.Clone(c.Files)
	for i, f := range c.Files {
		n := t.facts.Nodes[f.Path]
		if _, found := findText(n, f.Append, f.Base); f.Inherit && n.Type == resource.PathFile && n.Contents != nil && (found || len(f.Append) == 0) {
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
// the contents before appending, which are known as such or by their digest; the
// last place where the text forms whole lines; the end of the file. If the contents
// before appending end with a newline, it does not try the end of the file: the text
// would form whole lines there. The span has the newlines that joinLine has added.
func findText(n resource.PathFacts, text []byte, base string) (span, bool) {
	if len(text) == 0 {
		return span{}, false
	}
	if from := len(n.Base); from > 0 && bytes.HasPrefix(n.Contents, n.Base) {
		for _, line := range [][]byte{joinLine(n.Base, text), slices.Concat(n.Base, text)} {
			if bytes.HasPrefix(n.Contents, line) {
				return span{from, len(line)}, true
			}
		}
	}
	if s, found := findAfterBase(n, text, base); found {
		return s, true
	}
	for end := len(n.Contents); ; {
		from := bytes.LastIndex(n.Contents[:end], text)
		if from < 0 {
			break
		}
		to := from + len(text)
		if (from == 0 || n.Contents[from-1] == '\n') && (to == len(n.Contents) || text[len(text)-1] == '\n' || n.Contents[to] == '\n') {
			return span{from, endOfLine(n.Contents, text, to)}, true
		}
		end = to - 1
	}
	from := len(n.Contents) - len(text)
	return span{from, len(n.Contents)}, bytes.HasSuffix(n.Contents, text) && !bytes.HasSuffix(n.Base, []byte("\n"))
}

// endOfLine returns the end of a text, with the newline that joinLine has added to it.
func endOfLine(contents, text []byte, to int) int {
	if text[len(text)-1] != '\n' && to < len(contents) && contents[to] == '\n' {
		return to + 1
	}
	return to
}

// maxOccurrences bounds how often a text is looked for: for each, all contents
// before it are hashed.
const maxOccurrences = 16

// findAfterBase finds the text after the contents with the recorded digest.
func findAfterBase(n resource.PathFacts, text []byte, base string) (span, bool) {
	if base == "" {
		return span{}, false
	}
	at := 0
	for range maxOccurrences {
		i := bytes.Index(n.Contents[at:], text)
		if i < 0 {
			break
		}
		from := at + i
		to := endOfLine(n.Contents, text, from+len(text))
		if resource.Digest(n.Contents[:from]) == base {
			return span{from, to}, true
		}
		if from > 0 && n.Contents[from-1] == '\n' && resource.Digest(n.Contents[:from-1]) == base {
			return span{from - 1, to}, true
		}
		at = from + 1
	}
	return span{}, false
}

func inheritsAny(files []resource.File) bool {
	return slices.ContainsFunc(files, func(f resource.File) bool { return f.Inherit })
}
