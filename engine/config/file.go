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
)

// maxDocument is how many bytes a file of documents may have.
const maxDocument = 128 << 20

// file reads the documents of one file.
func (l *loader) file(p string) []*document {
	shown := l.real(p)
	text, wrong := l.text(p)
	if wrong != "" {
		l.problems.add(engine.Place{File: shown}, "%s", wrong)
		return nil
	}
	return l.read(Text{Name: path.Base(p), Dir: path.Dir(shown), Data: text}, shown)
}

// text reads a file, as far as it may go, or says what is wrong with it.
func (l *loader) text(p string) (text, wrong string) {
	const large = "has more than 128 MiB; put files of that size into the OS image"
	info, err := fs.Stat(l.src.FS, p)
	switch {
	case err != nil:
		return "", fmt.Sprintf("cannot be read: %v", reason(err))
	case !info.Mode().IsRegular():
		return "", "is not a regular file; name a file or a folder of documents"
	case info.Size() > maxDocument:
		return "", large
	}
	f, err := l.src.FS.Open(p)
	if err != nil {
		return "", fmt.Sprintf("cannot be read: %v", reason(err))
	}
	defer func() { _ = f.Close() }() // only read
	var b strings.Builder
	b.Grow(int(info.Size()))
	if _, err := io.Copy(&b, io.LimitReader(f, maxDocument+1)); err != nil {
		return "", fmt.Sprintf("cannot be read: %v", reason(err))
	}
	if b.Len() > maxDocument {
		return "", large
	}
	return b.String(), ""
}

// read reads the documents of a text. What kind they are is told by their
// fields, not by its name.
func (l *loader) read(t Text, shown string) []*document {
	before := len(l.problems.errors)
	stem := strings.TrimSuffix(t.Name, path.Ext(t.Name))
	text := strings.TrimPrefix(t.Data, "\xef\xbb\xbf")
	if wrong := l.src.Cache.contents.spendText(len(text)); wrong != "" {
		l.problems.add(engine.Place{File: shown}, "%s", wrong)
		return nil
	}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if n := readJSON(shown, text, &l.problems); n != nil {
			defer n.forget()
			return name(l.documents(n, shown), stem)
		}
		return nil
	}
	var docs []*document
	for _, c := range l.chunks(text, shown) {
		n := readYAML(shown, c, &l.problems)
		switch {
		case n == nil:
			continue
		case n.get("variant") != nil:
			docs = append(docs, l.butane(n, c, document{file: shown, dir: t.Dir})...)
		default:
			docs = append(docs, l.documents(n, shown)...)
		}
		n.forget()
	}
	if len(docs) == 0 && len(l.problems.errors) == before {
		l.problems.add(engine.Place{File: shown}, "has no document; write one, or remove the file")
	}
	return name(docs, stem)
}

// chunks takes a YAML stream apart, unless it has too many documents.
func (l *loader) chunks(text, shown string) []chunk {
	if strings.Count(text, "\n---")+strings.Count(text, "\n...") > maxChunks {
		l.problems.add(engine.Place{File: shown}, "has more than %d documents; write fewer into one file", maxChunks)
		return nil
	}
	return split([]byte(text))
}

// name names the documents of a file that have no names of their own after
// the file.
func name(docs []*document, stem string) []*document {
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

// documents reads what a value holds: Ignition, a MachineConfig, or a list of
// them.
func (l *loader) documents(n *node, shown string) []*document {
	k := n.text("kind")
	if (k == "List" || k == "MachineConfigList") && n.get("items") != nil && n.get("items").kind == listKind {
		l.listFields(n, shown)
		var docs []*document
		for i := range n.get("items").items {
			docs = append(docs, l.document(&document{file: shown, source: n, root: steps{"items", i}, report: &l.problems, contents: &l.src.Cache.contents, fetch: l.src.Fetch})...)
		}
		return docs
	}
	return l.document(&document{file: shown, source: n, report: &l.problems, contents: &l.src.Cache.contents, fetch: l.src.Fetch})
}

// listFields refuses what a list has beside its items.
func (l *loader) listFields(n *node, shown string) {
	for _, k := range n.keys {
		switch k.name {
		case "apiVersion", "kind", "metadata", "items":
		default:
			l.problems.add(engine.Place{File: shown, Line: k.line, Column: k.column, Path: shorten(k.name)}, "is not a field of a list; remove it")
		}
	}
}

func (l *loader) document(d *document) []*document {
	d.prefix = d.root
	n, _ := d.source.follow(d.root)
	before, ok := len(d.report.errors), false
	switch {
	case n.text("kind") == machineKind:
		ok = d.readMachineConfig(n)
	case n.get("kind") != nil || n.get("apiVersion") != nil:
		d.add(steps{"kind"}, "must be MachineConfig; other objects are not read")
	case n.get("ignition") != nil:
		ok = d.readIgnition(n)
	case n.get("variant") != nil:
		d.add(nil, "is Butane written as JSON; write it as YAML")
	default:
		d.add(nil, "is neither Butane (variant and version), nor Ignition (ignition.version), nor a MachineConfig (kind)")
	}
	return d.checked(ok, before)
}

// checked is the document if nothing new is wrong with it.
func (d *document) checked(ok bool, before int) []*document {
	if ok && len(d.report.errors) == before {
		d.fetchAll()
	}
	if ok {
		d.check()
	}
	if !ok || len(d.report.errors) > before {
		return nil
	}
	return []*document{d}
}

// butane translates a Butane document and reads the result.
func (l *loader) butane(source *node, c chunk, in document) []*document {
	d := &in
	d.source, d.butane, d.report, d.fetch, d.contents = source, true, &l.problems, l.src.Fetch, &l.src.Cache.contents
	if strings.Contains(source.text("version"), "experimental") {
		d.add(steps{"version"}, "is experimental and may change its meaning; use a stable version")
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
		d.finding(f)
	}
	if !ok {
		return nil
	}
	var inner problems
	var n *node
	if out = bytes.TrimSpace(out); bytes.HasPrefix(out, []byte("{")) {
		n = readJSON(d.file, string(out), &inner)
	} else {
		n = readYAML(d.file, chunk{text: out}, &inner)
	}
	if n == nil {
		d.add(nil, "was translated by Butane to something that cannot be read")
		return nil
	}
	if n.text("kind") == machineKind {
		ok = d.readMachineConfig(n)
	} else {
		ok = d.readIgnition(n)
	}
	return d.checked(ok, before)
}

// finding passes on what Butane says. A field it does not know is wrong: it
// would be ignored.
func (d *document) finding(f butane.Finding) {
	place := d.place(f.Path)
	if f.Line > 0 {
		place.Line, place.Column = f.Line, f.Column
	}
	if len(f.Path) == 0 {
		place.Path = ""
	}
	unused := strings.HasPrefix(f.Message, "unused key ")
	if unused {
		place.Path = steps(f.Path).String()
		if k := d.source.key(f.Path); k != nil {
			place.Line, place.Column = k.line, k.column
		}
	}
	if f.Warning && !unused {
		d.report.warn(place, "%s", say(f.Message))
		return
	}
	d.report.add(place, "%s", say(f.Message))
}
