package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"

	"github.com/coreos/ignition/v2/config/shared/errors"
	types30 "github.com/coreos/ignition/v2/config/v3_0/types"
	types31 "github.com/coreos/ignition/v2/config/v3_1/types"
	types32 "github.com/coreos/ignition/v2/config/v3_2/types"
	types33 "github.com/coreos/ignition/v2/config/v3_3/types"
	types34 "github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/coreos/ignition/v2/config/v3_5"
	"github.com/coreos/ignition/v2/config/v3_5/types"
	"github.com/coreos/ignition/v2/config/validate"
	vpath "github.com/coreos/vcontext/path"
	"github.com/coreos/vcontext/report"
)

// latestVersion is the version to which all configs are translated.
const latestVersion = "3.5.0"

// shapes maps each version of Ignition's specification to its fields.
var shapes = map[string]reflect.Type{
	"3.0.0":       reflect.TypeFor[types30.Config](),
	"3.1.0":       reflect.TypeFor[types31.Config](),
	"3.2.0":       reflect.TypeFor[types32.Config](),
	"3.3.0":       reflect.TypeFor[types33.Config](),
	"3.4.0":       reflect.TypeFor[types34.Config](),
	latestVersion: reflect.TypeFor[types.Config](),
}

// readIgnition reads the Ignition config n into the document. It returns false
// if the config cannot be checked any further, and true otherwise, even after
// errors.
func (d *document) readIgnition(n *node) bool {
	versionPath := fieldPath{"ignition", "version"}
	if n.kind != objectKind {
		d.addError(nil, "must be an Ignition config: an object with ignition.version")
		return false
	}
	version := n.field("ignition").stringField("version")
	t, ok := shapes[version]
	switch {
	case version == "":
		d.addError(versionPath, "is missing, or not a string; write \"version\": \"3.4.0\"")
		return false
	case !ok:
		d.addError(versionPath, "is not a supported version; use 3.0.0 to 3.5.0")
		return false
	}
	if !d.butane { // Butane has made the others, so their fields are right
		s := &shapeChecker{file: d.file, format: "Ignition " + version, report: d.report}
		s.checkValue(n, t, d.prefix)
	}
	// Files are parsed and checked here: the library gets all the rest.
	files := n.field("storage").field("files")
	if files != nil {
		n = n.replaceField("storage", n.field("storage").withoutField("files"))
	}
	text := n.appendJSON(nil)
	cfg, findings, err := v3_5.ParseCompatibleVersion(text)
	before := len(d.report.errors)
	d.reportIgnitionFindings(findings)
	if err != nil {
		if len(d.report.errors) == before {
			d.addError(nil, "%s", unknownProblem)
		}
		// The text is decoded as version 3.5.0, which has all fields of older ones,
		// so that the checks below report their problems as well.
		if json.Unmarshal(text, &cfg) != nil {
			return false
		}
	}
	cfg.Ignition.Version = latestVersion
	cfg.Storage.Files = parseFiles(files)
	d.reportIgnitionFindings(validateFiles(cfg, version))
	d.ignition = cfg
	return true
}

func (d *document) reportIgnitionFindings(findings report.Report) {
	for _, e := range findings.Entries {
		p := pathOf(e.Context)
		switch {
		case e.Message == errors.ErrModeSpecialBits.Error(), e.Message == errors.ErrFileIllegalMode.Error():
			// Ignition only warns, but such a mode has no effect or an unexpected one.
			d.addError(p, "%s", cmp.Or(d.octalAdvice(p), explainMessage(e.Message)))
		case e.Kind.IsFatal():
			d.addError(p, "%s", explainMessage(e.Message))
		default:
			d.addWarning(p, "%s", explainMessage(e.Message))
		}
	}
}

// octalAdvice returns a question if a decimal mode looks like an octal one,
// else "".
func (d *document) octalAdvice(p fieldPath) string {
	p = d.prefix.with(p...)
	if d.butane {
		p = snakePath(p)
	}
	n, _ := d.source.followPath(p)
	mode, err := strconv.ParseUint(n.scalar, 8, 32)
	if err != nil || n.kind != numberKind || len(n.scalar) != 3 {
		return ""
	}
	if ext := path.Ext(d.file); ext == ".ign" || ext == ".json" {
		return fmt.Sprintf("%s is decimal in JSON, which has no octal numbers; did you mean 0%s? write %d", n.scalar, n.scalar, mode)
	}
	return fmt.Sprintf("%s is decimal; did you mean 0%s?", n.scalar, n.scalar)
}

// checkMerged reports errors that exist only in the merged config, such as a
// file of one document below a link of another.
func checkMerged(merged types.Config, known places, all *problems) {
	rest := merged
	rest.Storage.Files = nil
	findings := validate.ValidateWithContext(rest, nil)
	findings.Merge(validateFiles(merged, latestVersion))
	for _, e := range findings.Entries {
		if e.Kind.IsFatal() {
			all.addError(known.pathPlace(merged, pathOf(e.Context)), "%s", explainMessage(e.Message))
		}
	}
}

func pathOf(c vpath.ContextPath) fieldPath { return slices.Clone(fieldPath(c.Path)) }
