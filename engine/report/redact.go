package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/wire"
)

// Redactor hides sensitive values from everything behind it: each is replaced
// wherever it appears in an event.
type Redactor struct {
	Sensitive []string
	To        Sink
}

const hidden = "(sensitive)"

// Emit passes an event on without the sensitive values.
func (r Redactor) Emit(e engine.Event) error {
	if len(r.Sensitive) == 0 {
		return r.To.Emit(e)
	}
	return r.To.Emit(HideSensitive(e, r.Sensitive))
}

// RedactPlan is a plan without the sensitive values. The error is always nil.
func RedactPlan(p engine.Plan, sensitive []string) (engine.Plan, error) {
	if len(sensitive) == 0 {
		return p, nil
	}
	return HideSensitive(p, sensitive), nil
}

// HideSensitive is v with the sensitive values in every text of it replaced. The words
// of the program stay: they say nothing about a value that happens to be one of
// them, and without them an event could not be read.
func HideSensitive[T any](v T, sensitive []string) T {
	if len(sensitive) == 0 {
		return v
	}
	return wire.RewriteTexts(v, false, newReplacer(sensitive).Replace)
}

// newReplacer replaces the longest values first, since one may contain another.
func newReplacer(sensitive []string) *strings.Replacer {
	var values []string
	for _, v := range sensitive {
		values = append(values, valueSpellings(v)...)
	}
	slices.SortFunc(values, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var pairs []string
	for _, v := range slices.Compact(values) {
		if v != "" {
			pairs = append(pairs, v, hidden)
		}
	}
	return strings.NewReplacer(pairs...)
}

// longLine is how long, in bytes, a line of a sensitive value of many lines
// must be to be hidden on its own: shorter ones, such as "}", are everywhere.
const longLine = 8

// valueSpellings are the forms in which a value may turn up: as it is, without the
// space around it, as sh and as Go and JSON quote it, and line by line.
func valueSpellings(v string) []string {
	trimmed := strings.TrimSpace(v)
	plain := []string{v, trimmed}
	if lines := strings.Split(trimmed, "\n"); len(lines) > 1 {
		for _, l := range lines {
			if l = strings.TrimSpace(l); len(l) >= longLine {
				plain = append(plain, l)
			}
		}
	}
	all := slices.Clone(plain)
	for _, p := range plain {
		all = append(all, strings.ReplaceAll(p, "'", `'\''`), withoutQuotes(strconv.Quote(p)))
	}
	return all
}

// withoutQuotes is a quoted text without its quotes.
func withoutQuotes(quoted string) string { return quoted[1 : len(quoted)-1] }
