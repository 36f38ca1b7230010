package config

import (
	"strings"
	"unicode"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"holdfast/engine/config/registries"
	"holdfast/engine/config/syntax"
	"holdfast/engine/resource"
)

// document is one Butane, Ignition or MachineConfig document.
type document struct {
	file   string
	dir    string           // contains the local files of a Butane document
	name   string           // by which documents are sorted
	order  int              // among documents of one file without names, which are sorted by it
	role   string           // of a MachineConfig, or ""
	source *syntax.Node     // the parsed text of the file
	butane bool             // source is Butane, which names fields differently
	root   syntax.FieldPath // from source to the document, which may be one of a list
	prefix syntax.FieldPath // from source to the Ignition config
	// origins has the former indexes of the entries of a converted config.
	origins map[string][]int
	spec    machineSpec
	// generated means that a controller created the document. The OS image of
	// any other document overrides the OS image of this one.
	generated        bool
	isMachineConfig  bool
	rendered         bool                   // from all MachineConfigs of a pool
	mirrors          []registries.MirrorSet // of a mirror set
	fromMirrors      bool                   // rendered from mirror sets by holdfast
	ignored          string                 // why the document is ignored, or ""
	ignition         types.Config
	contents         *contentStore // the contents of the files of ignition
	contentBytes     int           // total size of the decoded files, also of those that were refused
	hasReportedLimit bool          // a limit of the document or the run was exceeded and reported
	fetch            func(Remote) ([]byte, error)
	fetchedBytes     int // total size of the fetched files
	failedFetches    int
	localBytes       int64 // total size of the local files of a Butane document
	report           *syntax.Problems
	isReadWithErrors bool                    // the text of the document had errors already
	parent           *document               // the document that merges this one; nil for most
	depth            int                     // number of documents that refer to each other, up to this one
	reference        resource.SourcePosition // place of the reference, if the document is embedded in another one
}

func (d *document) ignitionPlace(p syntax.FieldPath) resource.SourcePosition {
	if d.fromMirrors {
		return d.sourcePosition()
	}
	if len(p) > 2 {
		list, _ := p[1].(string)
		section, _ := p[0].(string)
		if i, ok := p[2].(int); ok && i < len(d.origins[section+"."+list]) {
			p = p.With()
			p[2] = d.origins[section+"."+list][i]
		}
	}
	return d.documentPlace(d.prefix.With(p...))
}

func (d *document) documentPlace(p syntax.FieldPath) resource.SourcePosition {
	if d.reference.File != "" {
		return embeddedPlace(d.reference, p.String())
	}
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

func (d *document) addExplanation(p syntax.FieldPath, e syntax.Explanation) {
	d.report.AddExplanation(d.ignitionPlace(p), e)
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
