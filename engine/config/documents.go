package config

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"holdfast/engine"
	"holdfast/engine/config/butane"
	"holdfast/engine/textutil"
)

// maxDocument is the maximum size of a file of documents in bytes.
const maxDocument = 128 << 20

func (l *loader) readFile(p string) []*document {
	shown := l.displayPath(p)
	text, wrong := l.readText(p)
	if wrong != "" {
		l.problems.addError(engine.SourcePosition{File: shown}, "%s", wrong)
		return nil
	}
	return l.readDocuments(Text{Name: path.Base(p), Dir: path.Dir(shown), Data: text}, shown)
}

func (l *loader) readText(p string) (text, wrong string) {
	const large = "has more than 128 MiB; put files of that size into the OS image"
	info, err := fs.Stat(l.src.FS, p)
	switch {
	case err != nil:
		return "", fmt.Sprintf("cannot be read: %v", textutil.ErrorWithoutPath(err))
	case !info.Mode().IsRegular():
		return "", "is not a regular file; name a file or a folder of documents"
	case info.Size() > maxDocument:
		return "", large
	}
	f, err := l.src.FS.Open(p)
	if err != nil {
		return "", fmt.Sprintf("cannot be read: %v", textutil.ErrorWithoutPath(err))
	}
	defer func() { _ = f.Close() }() // opened for reading only
	var b strings.Builder
	b.Grow(int(info.Size()))
	if _, err := io.Copy(&b, io.LimitReader(f, maxDocument+1)); err != nil {
		return "", fmt.Sprintf("cannot be read: %v", textutil.ErrorWithoutPath(err))
	}
	if b.Len() > maxDocument {
		return "", large
	}
	return b.String(), ""
}

// readDocuments parses the documents of a text. Their fields decide their
// kind, not the file name.
func (l *loader) readDocuments(t Text, shown string) []*document {
	before := len(l.problems.errors)
	stem := strings.TrimSuffix(t.Name, path.Ext(t.Name))
	text := strings.TrimPrefix(t.Data, "\xef\xbb\xbf")
	if wrong := l.src.Cache.contents.countText(len(text)); wrong != "" {
		l.problems.addError(engine.SourcePosition{File: shown}, "%s", wrong)
		return nil
	}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if n := readJSON(shown, text, &l.problems); n != nil {
			defer n.dropLongText()
			return nameDocuments(l.convertValue(n, shown), stem)
		}
		return nil
	}
	var docs []*document
	for _, c := range l.splitChunks(text, shown) {
		n := readYAML(shown, c, &l.problems)
		switch {
		case n == nil:
			continue
		case n.field("variant") != nil:
			docs = append(docs, l.convertButane(n, c, document{file: shown, dir: t.Dir})...)
		default:
			docs = append(docs, l.convertValue(n, shown)...)
		}
		n.dropLongText()
	}
	if len(docs) == 0 && len(l.problems.errors) == before {
		l.problems.addError(engine.SourcePosition{File: shown}, "has no document; write one, or remove the file")
	}
	return nameDocuments(docs, stem)
}

func (l *loader) splitChunks(text, shown string) []yamlChunk {
	if strings.Count(text, "\n---")+strings.Count(text, "\n...") > maxYAMLDocuments {
		l.problems.addError(engine.SourcePosition{File: shown}, "has more than %d documents; write fewer into one file", maxYAMLDocuments)
		return nil
	}
	return splitYAML([]byte(text))
}

func nameDocuments(docs []*document, stem string) []*document {
	unnamed := 0
	for _, d := range docs {
		if d.name == "" {
			d.name = stem
			if unnamed++; unnamed > 1 {
				d.name = fmt.Sprintf("%s#%d", stem, unnamed)
			}
		}
	}
	return docs
}

func (l *loader) convertValue(n *node, shown string) []*document {
	k := n.stringField("kind")
	if (k == "List" || k == "MachineConfigList") && n.field("items") != nil && n.field("items").kind == listKind {
		l.refuseListFields(n, shown)
		var docs []*document
		for i := range n.field("items").items {
			docs = append(docs, l.convertDocument(&document{file: shown, source: n, root: fieldPath{"items", i}, report: &l.problems, contents: &l.src.Cache.contents, fetch: l.src.Fetch})...)
		}
		return docs
	}
	return l.convertDocument(&document{file: shown, source: n, report: &l.problems, contents: &l.src.Cache.contents, fetch: l.src.Fetch})
}

func (l *loader) refuseListFields(n *node, shown string) {
	for _, k := range n.keys {
		switch k.name {
		case "apiVersion", "kind", "metadata", "items":
		default:
			l.problems.addError(engine.SourcePosition{File: shown, Line: k.line, Column: k.column, Path: shortenName(k.name)}, "is not a field of a list; remove it")
		}
	}
}

func (l *loader) convertDocument(d *document) []*document {
	d.prefix = d.root
	n, _ := d.source.followPath(d.root)
	before, ok := len(d.report.errors), false
	switch {
	case n.stringField("kind") == machineKind:
		ok = d.readMachineConfig(n)
	case n.field("kind") != nil || n.field("apiVersion") != nil:
		d.addError(fieldPath{"kind"}, "must be MachineConfig; other objects are not supported")
	case n.field("ignition") != nil:
		ok = d.readIgnition(n)
	case n.field("variant") != nil:
		d.addError(nil, "is Butane written as JSON; write it as YAML")
	default:
		d.addError(nil, "is neither Butane (variant and version), nor Ignition (ignition.version), nor a MachineConfig (kind)")
	}
	return d.fetchAndCheck(ok, before)
}

// fetchAndCheck fetches remote contents and checks the document. It returns
// the document unless there are errors after the first `before`.
func (d *document) fetchAndCheck(ok bool, before int) []*document {
	if ok && len(d.report.errors) == before {
		d.fetchContents()
	}
	if ok {
		d.checkIgnition()
	}
	if !ok || len(d.report.errors) > before {
		return nil
	}
	return []*document{d}
}

func (l *loader) convertButane(source *node, c yamlChunk, in document) []*document {
	d := &in
	d.source, d.butane, d.report, d.fetch, d.contents = source, true, &l.problems, l.src.Fetch, &l.src.Cache.contents
	if strings.Contains(source.stringField("version"), "experimental") {
		d.addError(fieldPath{"version"}, "is experimental and may change its meaning; use a stable version")
		return nil
	}
	if !l.localsFit(d) {
		return nil
	}
	out, findings, ok := butane.Translate(c.text, d.dir)
	before := len(d.report.errors)
	for _, f := range findings {
		if f.Line > 0 {
			f.Line += c.line
		}
		d.reportButaneFinding(f)
	}
	if !ok {
		return nil
	}
	var inner problems
	var n *node
	if out = bytes.TrimSpace(out); bytes.HasPrefix(out, []byte("{")) {
		n = readJSON(d.file, string(out), &inner)
	} else {
		n = readYAML(d.file, yamlChunk{text: out}, &inner)
	}
	if n == nil {
		d.addError(nil, "has a translation by Butane that is not valid; simplify the document")
		return nil
	}
	if n.stringField("kind") == machineKind {
		ok = d.readMachineConfig(n)
	} else {
		ok = d.readIgnition(n)
	}
	return d.fetchAndCheck(ok, before)
}

// reportButaneFinding reports a finding of Butane. Unknown fields are errors,
// because Butane would ignore them.
func (d *document) reportButaneFinding(f butane.Finding) {
	place := d.documentPlace(f.Path)
	if f.Line > 0 {
		place.Line, place.Column = f.Line, f.Column
	}
	if len(f.Path) == 0 {
		place.Path = ""
	}
	unused := strings.HasPrefix(f.Message, "unused key ")
	if unused {
		place.Path = fieldPath(f.Path).String()
		if k := d.source.fieldKey(f.Path); k != nil {
			place.Line, place.Column = k.line, k.column
		}
	}
	if f.Warning && !unused {
		d.report.addWarning(place, "%s", explainMessage(f.Message))
		return
	}
	d.report.addError(place, "%s", explainMessage(f.Message))
}
