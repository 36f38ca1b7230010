package config

import (
	"strings"
	"unicode"

	"github.com/coreos/ignition/v2/config/v3_5/types"

	"holdfast/engine/config/syntax"
	"holdfast/engine/resource"
)

// document is one Butane, Ignition or MachineConfig document.
type document struct {
	file   string
	dir    string           // contains the local files of a Butane document
	name   string           // the key by which documents are sorted
	role   string           // of a MachineConfig, or ""
	source *syntax.Node     // the parsed text of the file
	butane bool             // source is Butane, which names fields differently
	root   syntax.FieldPath // from source to the document, which may be one of a list
	prefix syntax.FieldPath // from source to the Ignition config
	spec   machineSpec
	// generated means that a controller created the document. The OS image of
	// any other document overrides the OS image of this one.
	generated        bool
	ignition         types.Config
	contents         *contentStore // the contents of the files of ignition
	contentBytes     int           // total size of the decoded files, also of those that were refused
	hasReportedLimit bool          // a limit of the document or the run was exceeded and reported
	fetch            func(Remote) ([]byte, error)
	fetchedBytes     int // total size of the fetched files
	failedFetches    int
	report           *syntax.Problems
}

func (d *document) ignitionPlace(p syntax.FieldPath) resource.SourcePosition {
	return d.documentPlace(d.prefix.With(p...))
}

func (d *document) documentPlace(p syntax.FieldPath) resource.SourcePosition {
	shown := p
	if d.butane {
		p = snakePath(p)
	}
	n, steps := d.source.FollowPath(p)
	if d.butane {
		shown = p[:steps]
	}
	return resource.SourcePosition{File: d.file, Line: n.Line, Column: n.Column, Path: shown.String()}
}

func (d *document) addError(p syntax.FieldPath, format string, args ...any) {
	d.report.AddError(d.ignitionPlace(p), format, args...)
}

func (d *document) addWarning(p syntax.FieldPath, format string, args ...any) {
	d.report.AddWarning(d.ignitionPlace(p), format, args...)
}

func snakePath(p syntax.FieldPath) syntax.FieldPath {
	out := make(syntax.FieldPath, len(p))
	for i, step := range p {
		out[i] = step
		if name, ok := step.(string); ok {
			out[i] = snakeName(name)
		}
	}
	return out
}

func snakeName(name string) string {
	switch name {
	case "sizeMiB":
		return "size_mib"
	case "startMiB":
		return "start_mib"
	}
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
