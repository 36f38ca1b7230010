package config

import (
	"path"
	"reflect"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"holdfast/engine/config/syntax"
	"holdfast/engine/resource"
)

// maxReferredDepth is the number of configs that may refer to each other in a
// row with ignition.config.
const maxReferredDepth = 8

// readReferred reads the configs that a document refers to with
// ignition.config. They become documents of their own, which are merged right
// after it, as Ignition does. isReplaced means that they take its place.
func (d *document) readReferred() (list []*document, isReplaced bool) {
	c := d.ignition.Ignition.Config
	d.ignition.Ignition.Config = types.IgnitionConfig{}
	at := syntax.FieldPath{"ignition", "config"}
	switch {
	case c.Replace.Source == nil && len(c.Merge) == 0:
		return nil, false
	case d.isMachineConfig:
		d.addError(at, "is not read from a MachineConfig; make a MachineConfig of that config, too")
		return nil, false
	case c.Replace.Source != nil:
		rest := d.ignition
		rest.Ignition.Version = ""
		if len(c.Merge) > 0 || !reflect.ValueOf(rest).IsZero() {
			d.addWarning(at.With("replace"), "replaces this document, whose other settings have no effect; remove them")
		}
		return d.readReferredConfig(c.Replace, at.With("replace")), true
	}
	for i, r := range c.Merge {
		for _, x := range d.readReferredConfig(r, at.With("merge", i)) {
			if x.parent == nil {
				x.parent = d
			}
			list = append(list, x)
		}
	}
	return list, false
}

// readReferredConfig reads one config. Its problems have the places in its file
// if it is a local file, and the place of the reference if it is embedded.
func (d *document) readReferredConfig(r types.Resource, at syntax.FieldPath) []*document {
	text, ok := d.referredText(r, at)
	if !ok {
		return nil
	}
	x := &document{file: d.file, dir: d.dir, contents: d.contents, fetch: d.fetch, depth: d.depth + 1, report: d.report}
	entry, _ := d.source.FollowPath(d.prefix.With(at...))
	if local := entry.StringField("local"); d.butane && local != "" {
		x.file = path.Join(d.dir, local)
		return x.readText(text)
	}
	var inner syntax.Problems
	x.report = &inner
	list := x.readText(text)
	place := func(p syntax.Problem) resource.SourcePosition {
		return embeddedPlace(d.ignitionPlace(at), p.Place.Path)
	}
	for _, p := range inner.Errors {
		d.report.AddError(place(p), "%s", p.Text)
	}
	for _, p := range inner.Warnings {
		d.report.AddWarning(place(p), "%s", p.Text)
	}
	for _, y := range list {
		if y.report == x.report {
			y.report, y.reference = d.report, d.ignitionPlace(at)
		}
	}
	return list
}

// embeddedPlace returns the place of a field in a config that is embedded at a
// place.
func embeddedPlace(at resource.SourcePosition, field string) resource.SourcePosition {
	if field != "" {
		at.Path += "." + field
	}
	return at
}

// referredText returns the text of a config within the limits.
func (d *document) referredText(r types.Resource, at syntax.FieldPath) (text string, ok bool) {
	if r.Source == nil || d.hasReportedLimit {
		return "", false
	}
	if d.depth >= maxReferredDepth {
		d.addError(at, "is the config of a config, more than %d deep; write the settings into fewer configs", maxReferredDepth)
		return "", false
	}
	most, tooMuch := d.sizeLimit()
	got := decodeResource(r, most)
	d.contentBytes += got.bytes
	d.contents.bytes += got.bytes
	if got.isTooLong {
		got.wrong = tooMuch
	}
	if got.wrong == "" {
		got.wrong = d.contents.countText(len(got.data))
	}
	if got.wrong != "" {
		d.addError(at.With(got.field...), "%s", got.wrong)
		return "", false
	}
	return strings.TrimPrefix(string(got.data), "\xef\xbb\xbf"), true
}

func (d *document) readText(text string) []*document {
	before := len(d.report.Errors)
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		d.report.AddError(resource.SourcePosition{File: d.file}, "is not an Ignition config in JSON; translate it with butane, or name it among the documents instead of here")
		return nil
	}
	n := syntax.ReadJSON(d.file, text, d.report)
	if n == nil {
		return nil
	}
	if wrong := d.contents.countValues(n.CountValues()); wrong != "" {
		d.report.AddError(resource.SourcePosition{File: d.file}, "%s", wrong)
		return nil
	}
	defer n.DropLongText()
	d.source = n
	return d.fetchAndCheck(d.readIgnition(n), before)
}
