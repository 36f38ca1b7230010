package config

import (
	"fmt"
	"slices"

	"holdfast/engine/config/butane"
	"holdfast/engine/config/syntax"
)

// Limits of the further translations of a refused document. They are for people
// who correct a document; larger ones get their errors in rounds.
const (
	maxRetries   = 4
	maxRetrySize = 1 << 20 // bytes of values, with aliases resolved; and of local files
)

// findMore translates a refused Butane document again without the fields that
// were refused, so that a person sees the problems of the other fields, too.
// Butane stops before it looks at all of them.
func (d *document) findMore(told []butane.Finding) {
	if d.source.TextSize() > maxRetrySize || d.localBytes > maxRetrySize {
		return
	}
	rest, seen := d.source, map[string]bool{}
	var gone []syntax.FieldPath
	for range maxRetries {
		before := len(gone)
		for _, f := range told {
			seen[findingKey(f)] = true
			gone = append(gone, d.refusedFields(f)...)
		}
		for _, p := range gone[before:] {
			n, _ := d.source.FollowPath(p)
			d.report.SilencePlace(d.file, n)
			rest = rest.WithoutPath(p)
		}
		if len(gone) == before {
			return
		}
		out, next, ok := butane.Translate(rest.AppendJSON(nil), d.dir)
		told = slices.DeleteFunc(next, func(f butane.Finding) bool {
			return len(f.Path) == 0 || seen[findingKey(f)] || isAboveAny(f.Path, gone)
		})
		for i := range told {
			told[i].Line, told[i].Column = 0, 0 // of another text
			d.reportButaneFinding(told[i])
		}
		if ok {
			if d.readTranslated(out) {
				ignitionCheck{d}.checkIgnition()
			}
			return
		}
	}
}

func findingKey(f butane.Finding) string { return fmt.Sprint(f.Path, f.Message) }

// refusedFields returns the fields that a finding refuses: the field of its path, or
// all values in its line.
func (d *document) refusedFields(f butane.Finding) []syntax.FieldPath {
	p := syntax.FieldPath(f.Path)
	if len(p) == 0 && f.Line > 0 {
		return d.source.LeavesOfLine(f.Line, nil)
	}
	for len(p) > 0 {
		if _, isName := p[len(p)-1].(string); isName {
			break
		}
		p = p[:len(p)-1]
	}
	if len(p) == 0 || len(p) == 1 && (p[0] == "variant" || p[0] == "version") {
		return nil
	}
	return []syntax.FieldPath{p}
}

// isAboveAny reports whether a path leads to one of these fields or to a value
// that has one of them: its problem may be that the field is gone.
func isAboveAny(p syntax.FieldPath, gone []syntax.FieldPath) bool {
	return slices.ContainsFunc(gone, func(g syntax.FieldPath) bool { return len(p) <= len(g) && slices.Equal(p, g[:len(p)]) })
}
