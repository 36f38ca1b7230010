package report

import (
	"strings"

	"holdfast/engine/textutil"
	"holdfast/engine/wire"
)

// withSafeTexts returns v with every text in it made fit to be shown. What a host says is
// untrusted: it can neither do anything to the terminal nor make lines that
// could be taken for holdfast's own.
func withSafeTexts[T any](v T) T { return wire.RewriteTexts(v, true, safeText) }

// safeText is a text of a host for a terminal; its lines but the first are
// indented further than any line of holdfast's own.
func safeText(s string) string {
	s = textutil.Printable(s)
	if !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return lineBreaks.Replace(strings.TrimRight(s, "\n"))
}

var lineBreaks = strings.NewReplacer("\n", "\n          ", "\t", " ")
