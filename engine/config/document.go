package config

import (
	"strings"
	"unicode"

	"github.com/coreos/ignition/v2/config/v3_5/types"

	"holdfast/engine"
)

// document is one Butane, Ignition or MachineConfig document.
type document struct {
	file   string
	dir    string    // that local files of Butane are in
	name   string    // by which documents are sorted
	role   string    // of a MachineConfig, or ""
	source *node     // what the person wrote
	butane bool      // source is Butane: other names for the same fields
	root   fieldPath // from source to the document, which may be one of a list
	prefix fieldPath // from source to the Ignition config
	spec   machineSpec
	// generated says that a controller made the document: its OS image is
	// the default that others override.
	generated        bool
	ignition         types.Config
	contents         *contentStore // that files of ignition name
	contentBytes     int           // bytes of the contents of its files
	hasReportedLimit bool          // these are as many as they may be
	fetch            func(Remote) ([]byte, error)
	report           *problems
}

// ignitionPlace is the place of a field of the Ignition config, or of what comes nearest
// to it in the text.
func (d *document) ignitionPlace(p fieldPath) engine.Place {
	return d.documentPlace(d.prefix.with(p...))
}

// documentPlace is the place of a field from the root of the document.
func (d *document) documentPlace(p fieldPath) engine.Place {
	shown := p
	if d.butane {
		p = snakePath(p)
	}
	n, steps := d.source.followPath(p)
	if d.butane {
		shown = p[:steps]
	}
	return engine.Place{File: d.file, Line: n.line, Column: n.column, Path: shown.String()}
}

func (d *document) addError(p fieldPath, format string, args ...any) {
	d.report.addError(d.ignitionPlace(p), format, args...)
}

func (d *document) addWarning(p fieldPath, format string, args ...any) {
	d.report.addWarning(d.ignitionPlace(p), format, args...)
}

// snakePath is the path by Butane's names: sshAuthorizedKeys is
// ssh_authorized_keys there.
func snakePath(p fieldPath) fieldPath {
	out := make(fieldPath, len(p))
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
