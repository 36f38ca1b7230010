package config

import (
	"strings"

	"holdfast/engine/config/syntax"
)

// checkUnitSyntax refuses lines that systemd would ignore (systemd.syntax(7)). Ignition does not check them.
func (d *document) checkUnitSyntax(contents *string, at syntax.FieldPath) {
	if contents == nil {
		return
	}
	section, continued := false, false
	number := 0
	add := func(format string, args ...any) {
		place := d.ignitionPlace(at)
		p := d.prefix.With(at...)
		if d.butane {
			p = snakePath(p)
		}
		if n, found := d.source.FollowPath(p); found == len(p) && n.IsBlock {
			place.Line, place.Column = n.Line+number, 0
		}
		d.report.AddError(place, format, args...)
	}
	for line := range strings.SplitSeq(*contents, "\n") {
		number++
		line = strings.TrimSpace(line)
		comment := strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";")
		switch {
		case comment:
			continue // allowed inside a continued value
		case continued, line == "":
		case strings.HasPrefix(line, "["):
			section = true
			if !strings.HasSuffix(line, "]") {
				add("has a [Section] without its end in line %d of the unit; close it", number)
			}
		case !strings.Contains(line, "="):
			add("has in line %d of the unit neither [Section] nor NAME=VALUE nor a comment; correct it", number)
		case !section:
			add("has NAME=VALUE before any [Section] in line %d of the unit; put it below one", number)
		}
		continued = strings.HasSuffix(line, "\\")
	}
}
