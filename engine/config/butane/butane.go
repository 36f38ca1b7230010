// Package butane turns Butane documents into Ignition and MachineConfig. No
// other package imports the Butane library, because its messages may quote
// secrets of a document.
package butane

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/butane/config"
	"github.com/coreos/ignition/v2/butane/config/common"
	"github.com/coreos/vcontext/tree"
)

// Finding is a warning or error that Butane reports about a document.
type Finding struct {
	Path    []any  // path of the field, with Butane's names of fields; may be empty
	Line    int    // from 1; 0 if not known
	Column  int    // from 1; 0 if not known
	Warning bool   // does not prevent the translation
	Unknown bool   // the field is not in the specification, so Butane ignores it
	Message string // text of Butane; it may quote the document: print only the text that Explain returns
	Advice  string // text to print in place of Message; "" for most findings
}

// unknownField begins the messages about fields that are not in the
// specification. Butane has no type for them.
const unknownField = "unused key "

// Translate converts a Butane document into an Ignition config (JSON) or, for
// the variant openshift, into a MachineConfig (YAML). It reads local files
// from dir, which is a path on disk. ok is false if the translation failed;
// the findings contain the reason.
func Translate(text []byte, dir string) (out []byte, findings []Finding, ok bool) {
	options := common.TranslateBytesOptions{TranslateOptions: common.TranslateOptions{FilesDir: dir, NoResourceAutoCompression: true}}
	out, report, err := config.TranslateBytes(text, options)
	fatal := false
	for _, e := range report.Entries {
		if e.Message == common.ErrUnkownIgnitionVersion.Error() {
			continue // a config that the document merges; it is read as any other document
		}
		f := Finding{Path: plainPath(e.Context.Path), Message: e.Message, Warning: !e.Kind.IsFatal(), Unknown: strings.HasPrefix(e.Message, unknownField)}
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

// fromError converts an error that is not in Butane's report. It returns a
// finding for each line with a value of the wrong type that the text names. For
// any other text it returns one finding without a place.
func fromError(err error) []Finding {
	if unknown := (common.ErrUnknownVersion{}); errors.As(err, &unknown) {
		return []Finding{explainUnknown(unknown.Variant, unknown.Version)}
	}
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
