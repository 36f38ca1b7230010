package termtext

import (
	"strings"

	"holdfast/engine/textutil"
	"holdfast/engine/wire"
)

// Safe returns v with every text made safe for a terminal. Text from hosts is
// untrusted: it must not control the terminal, or imitate the lines of
// holdfast.
func Safe[T any](v T) T { return wire.RewriteTexts(v, true, safeText) }

// safeText indents all lines except the first by more columns than any line of holdfast.
func safeText(s string) string {
	s = textutil.Printable(s)
	if strings.IndexByte(s, '\n') < 0 && strings.IndexByte(s, '\t') < 0 {
		return s
	}
	return lineBreaks.Replace(strings.TrimRight(s, "\n"))
}

var lineBreaks = strings.NewReplacer("\n", "\n          ", "\t", " ")
