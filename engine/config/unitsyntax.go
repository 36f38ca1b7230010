package config

import (
	"strings"

	"holdfast/engine/config/syntax"
	"holdfast/engine/resource"
)

// checkUnitSyntax refuses lines that systemd would ignore (systemd.syntax(7)), and warns of settings that systemd may
// ignore. Ignition checks neither.
func (v ignitionCheck) checkUnitSyntax(contents *string, at syntax.FieldPath) {
	if contents == nil {
		return
	}
	section, isInSection, continued := "", false, false
	number := 0
	add := func(format string, args ...any) { v.report.AddError(v.unitLinePlace(at, number), format, args...) }
	for line := range strings.SplitSeq(*contents, "\n") {
		number++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue // allowed inside a continued value
		}
		key, _, isSetting := strings.Cut(line, "=")
		switch {
		case continued, line == "":
		case strings.HasPrefix(line, "["):
			isInSection = true
			if !strings.HasSuffix(line, "]") {
				add("has a [Section] without its end in line %d of the unit; close it", number)
			}
			section = strings.Trim(line, "[]")
		case !isSetting:
			add("has in line %d of the unit neither [Section] nor NAME=VALUE nor a comment; correct it", number)
		case !isInSection:
			add("has NAME=VALUE before any [Section] in line %d of the unit; put it below one", number)
		default:
			problem, isSlip := unitKeyProblem(section, strings.TrimSpace(key))
			switch {
			case isSlip:
				add("has in line %d of the unit %s", number, problem)
			case problem != "":
				v.report.AddWarning(v.unitLinePlace(at, number), "has in line %d of the unit %s", number, problem)
			}
		}
		continued = strings.HasSuffix(line, "\\")
	}
}

// unitLinePlace returns the place of a line of a unit, if the document has the
// unit as a block.
func (v ignitionCheck) unitLinePlace(at syntax.FieldPath, number int) resource.SourcePosition {
	place := v.ignitionPlace(at)
	p := v.prefix.With(at...)
	if v.butane {
		p = snakePath(p)
	}
	if n, found := v.source.FollowPath(p); found == len(p) && n.IsBlock && v.reference.File == "" {
		place.Line, place.Column = n.Line+number, 0
	}
	return place
}
