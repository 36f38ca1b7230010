// Package butane turns Butane documents into Ignition and MachineConfig. It
// keeps the Butane library, which is archived, away from everything else.
package butane

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/coreos/butane/config"
	"github.com/coreos/butane/config/common"
	"github.com/coreos/vcontext/tree"
)

// Finding is something Butane says about a document.
type Finding struct {
	Path    []any  // of the field, by Butane's names; may be empty
	Line    int    // from 1; 0 if not known
	Column  int    // from 1; 0 if not known
	Warning bool   // the document can be read all the same
	Message string // Butane's own words: they may quote the document, see Say
}

// Translate gives the Ignition config (JSON) or, for the variant openshift,
// the MachineConfig (YAML) that a document stands for. Files it names with
// local are read from dir, an ordinary path. ok is false if there is none,
// and the findings say why.
func Translate(text []byte, dir string) (out []byte, findings []Finding, ok bool) {
	options := common.TranslateBytesOptions{TranslateOptions: common.TranslateOptions{FilesDir: dir, NoResourceAutoCompression: true}}
	out, report, err := config.TranslateBytes(text, options)
	fatal := false
	for _, e := range report.Entries {
		f := Finding{Path: plainPath(e.Context.Path), Message: e.Message, Warning: !e.Kind.IsFatal()}
		if p := e.Marker.StartP; p != nil {
			f.Line, f.Column = int(p.Line), int(p.Column)
		}
		fatal = fatal || !f.Warning
		findings = append(findings, f)
	}
	if err != nil && !fatal {
		findings = append(findings, fromError(err)...)
	}
	return out, findings, err == nil
}

var wrongType = regexp.MustCompile(`line (\d+): cannot unmarshal`)

const wrongTypeMessage = "wrong type"

// fromError turns the errors that Butane reports without a place into
// findings: one for each line that has a value of the wrong type.
func fromError(err error) []Finding {
	var findings []Finding
	for _, m := range wrongType.FindAllStringSubmatch(err.Error(), -1) {
		if line, err := strconv.Atoi(m[1]); err == nil {
			findings = append(findings, Finding{Line: line, Message: wrongTypeMessage})
		}
	}
	if len(findings) == 0 {
		findings = append(findings, Finding{Message: err.Error()})
	}
	return findings
}

// plainPath is the path with names as strings and indexes as integers.
func plainPath(path []any) []any {
	out := make([]any, len(path))
	for i, step := range path {
		switch s := step.(type) {
		case int, string:
			out[i] = s
		case tree.Key:
			out[i] = string(s)
		default:
			out[i] = fmt.Sprint(s)
		}
	}
	return out
}
