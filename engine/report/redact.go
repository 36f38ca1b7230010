package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/wire"
)

// Redactor replaces sensitive values in every event before it passes the event on.
type Redactor struct {
	Sensitive []string
	To        Sink
}

// Hidden replaces a sensitive value.
const Hidden = "(sensitive)"

// Emit passes an event on without the sensitive values.
func (r Redactor) Emit(e event.Event) error {
	if len(r.Sensitive) == 0 {
		return r.To.Emit(e)
	}
	return r.To.Emit(HideSensitive(e, r.Sensitive))
}

// RedactPlan returns a plan without the sensitive values. The error is always nil.
func RedactPlan(p engine.Plan, sensitive []string) (engine.Plan, error) {
	if len(sensitive) == 0 {
		return p, nil
	}
	return HideSensitive(p, sensitive), nil
}

// HideSensitive returns v with the sensitive values replaced in every text. It
// keeps the words of the program, such as the kind of an event, because no
// program can read the event without them. A value that equals such a word is
// still not revealed.
func HideSensitive[T any](v T, sensitive []string) T {
	if len(sensitive) == 0 {
		return v
	}
	return wire.RewriteTexts(v, false, newReplacer(sensitive).Replace)
}

// newReplacer returns a replacer that prefers the longest value, because one value may contain another.
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
			pairs = append(pairs, v, Hidden)
		}
	}
	return strings.NewReplacer(pairs...)
}

// longLine is the minimum length, in bytes, of a line that is hidden by itself.
// It concerns the lines of long sensitive values. Shorter lines, such as "}",
// are too common.
const longLine = 8

// valueSpellings returns the forms in which a value may appear: unchanged,
// trimmed, quoted by sh, by Go and by JSON, and line by line.
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

func withoutQuotes(quoted string) string { return quoted[1 : len(quoted)-1] }
