package config

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"holdfast/engine/config/butane"
	"holdfast/engine/config/ignition"
	"holdfast/engine/config/syntax"
	"holdfast/engine/resource"
	"holdfast/engine/textutil"
)

func (l *loader) readFile(p string) []*document {
	shown := l.displayPath(p)
	text, wrong := l.readText(p)
	if wrong != "" {
		l.problems.AddError(resource.SourcePosition{File: shown}, "%s", wrong)
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
	case info.Size() > syntax.MaxDocument:
		return "", large
	}
	f, err := l.src.FS.Open(p)
	if err != nil {
		return "", fmt.Sprintf("cannot be read: %v", textutil.ErrorWithoutPath(err))
	}
	defer func() { _ = f.Close() }() // opened for reading only
	var b strings.Builder
	b.Grow(int(info.Size()))
	if _, err := io.Copy(&b, io.LimitReader(f, syntax.MaxDocument+1)); err != nil {
		return "", fmt.Sprintf("cannot be read: %v", textutil.ErrorWithoutPath(err))
	}
	if b.Len() > syntax.MaxDocument {
		return "", large
	}
	return b.String(), ""
}

// readDocuments decides the kind of a document by its fields, not by the file name.
func (l *loader) readDocuments(t Text, shown string) []*document {
	before := len(l.problems.Errors)
	stem := strings.TrimSuffix(t.Name, path.Ext(t.Name))
	text := strings.TrimPrefix(t.Data, "\xef\xbb\xbf")
	if wrong := l.src.Cache.contents.countText(len(text)); wrong != "" {
		l.problems.AddError(resource.SourcePosition{File: shown}, "%s", wrong)
		return nil
	}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if n := syntax.ReadJSON(shown, text, &l.problems); n != nil && l.countValues(n, shown) {
			defer n.DropLongText()
			return nameDocuments(l.convertValue(n, shown), stem)
		}
		return nil
	}
	var docs []*document
	for _, c := range l.splitChunks(text, shown) {
		first := len(l.problems.Errors)
		n := syntax.ReadYAML(shown, c, &l.problems)
		switch {
		case n == nil:
			continue
		case !l.countValues(n, shown):
			return nil
		case n.Field("variant") != nil:
			docs = append(docs, l.convertButane(n, c, document{file: shown, dir: t.Dir, isReadWithErrors: len(l.problems.Errors) > first})...)
		default:
			docs = append(docs, l.convertValue(n, shown)...)
		}
		n.DropLongText()
	}
	if len(docs) == 0 && len(l.problems.Errors) == before {
		l.problems.AddError(resource.SourcePosition{File: shown}, "has no document; write one, or remove the file")
	}
	return nameDocuments(docs, stem)
}

// countValues counts the values of a document, and reports whether the limit of
// the run allows them: aliases can repeat values many times in every document.
func (l *loader) countValues(n *syntax.Node, shown string) bool {
	count := n.CountValues()
	if _, isText := l.src.Texts[shown]; isText {
		l.textValues += count
	}
	wrong := l.src.Cache.contents.countValues(count)
	if wrong != "" {
		l.problems.AddError(resource.SourcePosition{File: shown, Line: n.Line}, "%s", wrong)
	}
	return wrong == ""
}

func (l *loader) splitChunks(text, shown string) []syntax.YAMLChunk {
	if strings.Count(text, "\n---")+strings.Count(text, "\n...") > syntax.MaxYAMLDocuments {
		l.problems.AddError(resource.SourcePosition{File: shown}, "has more than %d document markers (--- or ...); write fewer documents into one file", syntax.MaxYAMLDocuments)
		return nil
	}
	return syntax.SplitYAML([]byte(text))
}

func nameDocuments(docs []*document, stem string) []*document {
	unnamed := 0
	for _, d := range docs {
		if d.parent != nil {
			d.name, d.order, d.role = d.parent.name, d.parent.order, d.parent.role
		}
		if d.name == "" {
			d.name = stem
			if unnamed++; unnamed > 1 {
				d.name, d.order = fmt.Sprintf("%s#%d", stem, unnamed), unnamed
			}
		}
	}
	return docs
}

func (l *loader) convertValue(n *syntax.Node, shown string) []*document {
	k := n.StringField("kind")
	if (k == "List" || k == "MachineConfigList") && n.Field("items") != nil && n.Field("items").Kind == syntax.ListKind {
		l.refuseListFields(n, shown)
		var docs []*document
		for i := range n.Field("items").Items {
			docs = append(docs, l.convertDocument(&document{file: shown, source: n, root: syntax.FieldPath{"items", i}, report: &l.problems, contents: &l.src.Cache.contents, fetch: l.src.Fetch})...)
		}
		return docs
	}
	return l.convertDocument(&document{file: shown, source: n, report: &l.problems, contents: &l.src.Cache.contents, fetch: l.src.Fetch})
}

func (l *loader) refuseListFields(n *syntax.Node, shown string) {
	for _, k := range n.Keys {
		switch k.Name {
		case "apiVersion", "kind", "metadata", "items":
		default:
			l.problems.AddError(resource.SourcePosition{File: shown, Line: k.Line, Column: k.Column, Path: syntax.ShortenName(k.Name)}, "is not a field of a list; remove it")
		}
	}
}

func (l *loader) convertDocument(d *document) []*document {
	d.prefix = d.root
	n, _ := d.source.FollowPath(d.root)
	before, ok := len(d.report.Errors), false
	_, isMirrors := mirrorKinds[n.StringField("kind")]
	switch {
	case n.StringField("kind") == machineKind:
		ok = d.readMachineConfig(n)
	case isMirrors:
		ok = d.readMirrors(n)
	case isKustomization(d.file, n):
		ok = d.readKustomization(n)
	case n.Field("kind") != nil || n.Field("apiVersion") != nil:
		ok = d.readOtherObject(n)
	case n.Field("ignition") != nil:
		ok = d.readIgnition(n)
	case n.Field("variant") != nil:
		d.addError(nil, "is Butane written as JSON; write it as YAML")
	default:
		d.addError(nil, "is neither Butane (variant and version), nor Ignition (ignition.version), nor a MachineConfig (kind); correct it, or move it out of the folder")
	}
	return d.fetchAndCheck(ok, before)
}

// fetchAndCheck fetches remote contents and checks the document. It returns the
// document and those that it refers to, or nil if one of them has errors. ok is
// false if the document could not be read. before is the number of errors in the
// report from earlier documents.
func (d *document) fetchAndCheck(ok bool, before int) []*document {
	if ok && len(d.report.Errors) == before {
		d.fetchContents()
	}
	var referred []*document
	isReplaced := false
	if ok {
		ignitionCheck{d}.checkIgnition()
		referred, isReplaced = d.readReferred()
	}
	switch {
	case !ok || len(d.report.Errors) > before:
		return nil
	case isReplaced:
		return referred
	}
	return append([]*document{d}, referred...)
}

func (l *loader) convertButane(source *syntax.Node, c syntax.YAMLChunk, in document) []*document {
	d := &in
	d.source, d.butane, d.report, d.fetch, d.contents = source, true, &l.problems, l.src.Fetch, &l.src.Cache.contents
	if strings.Contains(source.StringField("version"), "experimental") {
		d.addError(syntax.FieldPath{"version"}, "is experimental and may change its meaning; use a stable version")
		return nil
	}
	l.findFilesDir(d)
	if !l.localsFit(d) {
		return nil
	}
	out, findings, ok := butane.Translate(c.Text, d.dir)
	before := len(d.report.Errors)
	for i := range findings {
		if findings[i].Line > 0 {
			findings[i].Line += c.Line
		}
		d.reportButaneFinding(findings[i])
	}
	if !ok {
		d.findMore(findings)
		return nil
	}
	return d.fetchAndCheck(d.readTranslated(out), before)
}

// readTranslated reads the output of Butane. It returns the same as readIgnition.
func (d *document) readTranslated(out []byte) bool {
	var inner syntax.Problems
	var n *syntax.Node
	if out = bytes.TrimSpace(out); bytes.HasPrefix(out, []byte("{")) {
		n = syntax.ReadJSON(d.file, string(out), &inner)
	} else {
		n = syntax.ReadYAML(d.file, syntax.YAMLChunk{Text: out}, &inner)
	}
	if n == nil {
		d.addError(nil, "cannot be read after its translation by Butane; simplify the document")
		return false
	}
	if n.StringField("kind") == machineKind {
		return d.readMachineConfig(n)
	}
	return d.readIgnition(n)
}

// reportButaneFinding makes unknown fields errors, because Butane would ignore them.
func (d *document) reportButaneFinding(f butane.Finding) {
	if d.isReadWithErrors && len(f.Path) == 0 && f.Line == 0 {
		return // the library could not read the text for the reason that is reported
	}
	place := d.documentPlace(f.Path)
	if f.Line > 0 {
		place.Line, place.Column = f.Line, f.Column
	}
	if len(f.Path) == 0 {
		place.Path = ""
	}
	if f.Unknown {
		place.Path = syntax.FieldPath(f.Path).String()
		if k := d.source.FieldKey(f.Path); k != nil {
			place.Line, place.Column = k.Line, k.Column
		}
	}
	explained := syntax.Explanation{Text: f.Advice}
	switch {
	case f.Unknown:
		explained.Text = butane.ExplainUnknownField(d.source.StringField("variant"), f.Path)
	case f.Advice == "":
		explained = ignition.ExplainMessage(f.Message)
	}
	if f.Warning && !f.Unknown {
		d.report.AddWarning(place, "%s", explained.Text)
		return
	}
	d.report.AddExplanation(place, explained)
}
