package textutil

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns s in a form that is safe to show on a terminal. Output of a
// host is untrusted: it could move the cursor, change the title of the window,
// or reorder a line so that the line has another meaning. Newline and
// tab stay. Every other character that is not graphic becomes its Go escape,
// such as \x1b or \u202e: C0 and C1 controls with ESC and CR, bidirectional
// overrides, invisible and private characters. Bytes that are not UTF-8 become
// U+FFFD. Printable does not escape backslashes, because its result is for
// people and cannot be turned back.
func Printable(s string) string {
	plain := 0 // most texts are ASCII, and plans of large sites have millions of texts
	for plain < len(s) && s[plain] >= ' ' && s[plain] < 0x7f {
		plain++
	}
	first := strings.IndexFunc(s[plain:], isUnprintable)
	if first < 0 {
		return s
	}
	first += plain
	var b strings.Builder
	b.Grow(len(s) + 8)
	b.WriteString(s[:first])
	for _, r := range s[first:] {
		switch {
		case !isUnprintable(r) || r == utf8.RuneError:
			b.WriteRune(r)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// isUnprintable reports whether a terminal must not receive r. This includes
// U+FFFD, because invalid bytes decode to it and have to be replaced.
func isUnprintable(r rune) bool {
	return r != '\n' && r != '\t' && (!unicode.IsGraphic(r) || r == utf8.RuneError)
}
