package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/coreos/ignition/v2/config/shared/errors"
	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/ignition/v2/config/validate"
	vpath "github.com/coreos/vcontext/path"
	"github.com/coreos/vcontext/report"

	"holdfast/engine/config/butane"
	"holdfast/engine/config/ignition"
	"holdfast/engine/config/syntax"
)

// readIgnition returns false if the config cannot be checked any further, and true otherwise, even after errors.
func (d *document) readIgnition(n *syntax.Node) bool {
	versionPath := syntax.FieldPath{"ignition", "version"}
	if n.Kind != syntax.ObjectKind {
		d.addError(nil, "must be an Ignition config: an object with ignition.version")
		return false
	}
	version := n.Field("ignition").StringField("version")
	if ignition.OldShape(version) != nil && !d.butane {
		if n = d.convertOld(n, version); n == nil {
			return false
		}
		version = ignition.ConvertedVersion
	}
	t := ignition.Shape(version)
	switch {
	case version == "":
		d.addError(versionPath, "is missing, or not a string; write \"version\": \"3.4.0\"")
		return false
	case t == nil:
		d.addError(versionPath, "%s", ignition.ExplainVersion(version))
		return false
	}
	if !d.butane && d.origins == nil { // translators write only fields that exist
		n = d.withoutOldFields(n)
		s := &syntax.ShapeChecker{File: d.file, Format: "Ignition " + version, Report: d.report}
		s.CheckValue(n, t, d.prefix)
	}
	// This package parses and checks files. The library gets the rest of the
	// config.
	files := n.Field("storage").Field("files")
	if files != nil {
		n = n.ReplaceField("storage", n.Field("storage").WithoutField("files"))
	}
	text := n.AppendJSON(nil)
	cfg, findings, err := v3_6.ParseCompatibleVersion(text)
	before := len(d.report.Errors)
	d.reportIgnitionFindings(findings)
	if err != nil {
		if len(d.report.Errors) == before && !findings.IsFatal() {
			d.addExplanation(nil, syntax.VagueExplanation())
		}
		// The latest version has all fields of older versions. Decoding the text as
		// this version lets the checks below report the problems of those fields as
		// well.
		if json.Unmarshal(text, &cfg) != nil {
			return false
		}
	}
	cfg.Ignition.Version = ignition.LatestVersion
	cfg.Storage.Files = ignition.ParseFiles(files)
	d.reportIgnitionFindings(ignition.ValidateFiles(cfg, version))
	d.ignition = cfg
	return true
}

func (d *document) reportIgnitionFindings(findings report.Report) {
	for _, e := range findings.Entries {
		p := pathOf(e.Context)
		switch {
		case (e.Message == errors.ErrInvalidScheme.Error() || e.Message == errors.ErrInvalidUrl.Error()) && isDecodedSource(p):
			// decodeResource reports it, with the scheme.
		case e.Message == errors.ErrModeSpecialBits.Error(), e.Message == errors.ErrFileIllegalMode.Error():
			// Ignition only warns, but such a mode has no effect or an unexpected one.
			d.addExplanation(p, cmp.Or(syntax.Explanation{Text: d.octalAdvice(p)}, ignition.ExplainMessage(e.Message)))
		case e.Kind.IsFatal():
			d.addExplanation(p, ignition.ExplainMessage(e.Message))
		default:
			d.addWarning(p, "%s", ignition.ExplainMessage(e.Message).Text)
		}
	}
}

// isDecodedSource reports whether this package decodes the source at a path.
func isDecodedSource(p syntax.FieldPath) bool {
	return len(p) > 2 && (p[0] == "storage" && p[1] == "files" || p[0] == "ignition" && p[1] == "config")
}

// octalAdvice returns a question if a decimal mode looks like an octal one,
// else "".
func (d *document) octalAdvice(p syntax.FieldPath) string {
	p = d.prefix.With(p...)
	if d.butane {
		p = snakePath(p)
	}
	n, _ := d.source.FollowPath(p)
	mode, err := strconv.ParseUint(n.Scalar, 8, 32)
	if err != nil || n.Kind != syntax.NumberKind || len(n.Scalar) != 3 && !looksOctal(n.Scalar) {
		return ""
	}
	if ext := path.Ext(d.file); ext == ".ign" || ext == ".json" {
		return fmt.Sprintf("%s is decimal in JSON, which has no octal numbers; did you mean 0%s? write %d", n.Scalar, n.Scalar, mode)
	}
	return fmt.Sprintf("%s is decimal; did you mean 0%s?", n.Scalar, n.Scalar)
}

func looksOctal(digits string) bool {
	decimal, err := strconv.Atoi(digits)
	return err == nil && (butane.LooksOctal(decimal, false) || butane.LooksOctal(decimal, true))
}

// checkMerged reports errors that exist only in the merged config, such as a
// file of one document below a link of another.
func checkMerged(merged types.Config, known places, all *syntax.Problems) {
	rest := merged
	rest.Storage.Files = nil
	findings := validate.ValidateWithContext(rest, nil)
	findings.Merge(ignition.ValidateFiles(merged, ignition.LatestVersion))
	for _, e := range findings.Entries {
		if e.Kind.IsFatal() {
			all.AddExplanation(known.pathPlace(merged, pathOf(e.Context)), ignition.ExplainMessage(e.Message))
		}
	}
}

func pathOf(c vpath.ContextPath) syntax.FieldPath { return slices.Clone(syntax.FieldPath(c.Path)) }
