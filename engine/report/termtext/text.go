package termtext

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// Width is the width of wrapped text. Only a longer word exceeds it. A plan also
// breaks a change or a rule that would exceed it into two lines. Other lines of a
// plan may be longer.
const Width = 80

// FormatCount returns a number with its noun, in the singular or the plural.
func FormatCount(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// FoldHosts returns the folded names of hosts, with the count of the hosts if there
// are several.
func FoldHosts(names []string) string {
	text := strings.Join(textutil.FoldNames(names), ", ")
	if n := len(names); n > 1 {
		text += fmt.Sprintf(" (%d hosts)", n)
	}
	return text
}

// FormatDuration returns a duration for people, with less precision for longer
// durations.
func FormatDuration(d engine.Duration) string {
	t := time.Duration(d)
	switch {
	case t < 9950*time.Millisecond: // rounded to less than 10 s
		return fmt.Sprintf("%.1f s", t.Seconds())
	case t < 119500*time.Millisecond:
		return fmt.Sprintf("%.0f s", t.Seconds())
	}
	return t.Round(time.Second).String()
}

var longHash = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// ShortHashes cuts the hashes in a text to 12 digits.
func ShortHashes(s string) string {
	return longHash.ReplaceAllStringFunc(s, func(h string) string { return h[:12] })
}

// maxCause is the length in bytes at which ShortenText cuts a line, such as the
// cause of a failure.
const maxCause = 200

// ShortenText returns the first line of a text, cut before maxCause: after a clause if most of the text stays, else after a
// word. So advice at the end of a text is whole or left out.
func ShortenText(text string) string {
	line, more, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > maxCause {
		line, more = cutClause(strings.ToValidUTF8(line[:maxCause], "")), "more"
	}
	if strings.TrimSpace(more) == "" {
		return line
	}
	return strings.TrimSpace(line) + " …"
}

// cutClause removes the rest of a clause that was cut, or of a word if the clause is most of the text.
func cutClause(text string) string {
	if i := strings.LastIndex(text, "; "); i > len(text)/2 {
		return text[:i]
	}
	if i := strings.LastIndexByte(text, ' '); i > len(text)/2 {
		return strings.TrimRight(text[:i], " ,;:(")
	}
	return text
}

// Wrap breaks a text into indented lines of at most Width columns.
func Wrap(indent, text string) string { return wrapTo(Width, indent, text) }

// Hang breaks a text that is wider than a terminal into lines. All but the
// first are indented further. With a width of 0, the terminal is not known.
func Hang(width int, indent, text string) string {
	if width <= 0 || ansi.StringWidth(indent+text) <= width {
		return indent + text + "\n"
	}
	return indent + strings.TrimLeft(wrapTo(width, indent+"  ", text), " ")
}

// BreakLines breaks the lines of a text that are wider than a terminal, so that the terminal breaks no words. With 0
// columns, the width is not known.
func BreakLines(columns int, text string) string {
	if columns <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		words := strings.TrimLeft(line, " ")
		b.WriteString(Hang(columns, line[:len(line)-len(words)], strings.TrimSuffix(words, "\n")))
	}
	return b.String()
}

func wrapTo(width int, indent, text string) string {
	var b strings.Builder
	line := indent
	for _, word := range strings.Fields(text) {
		if line != indent && ansi.StringWidth(line+" "+word) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}

var lineFolder = strings.NewReplacer("\n", " ", "\t", " ")

// OneLine replaces line breaks and tabs by spaces.
func OneLine(s string) string { return lineFolder.Replace(s) }

// SafeLine makes a text of a host safe for a terminal. It stays on its line, so that it imitates no line about another host.
func SafeLine(s string) string { return OneLine(textutil.Printable(s)) }

// FormatLatency formats a latency that is given in seconds: in milliseconds below
// 1 s, else in seconds. It shows one decimal place below 10 ms and from 1 s on.
func FormatLatency(seconds float64) string {
	switch ms := seconds * 1000; {
	case ms == 0:
		return "0 ms"
	case ms < 9.95: // rounded to less than 10 ms
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", seconds)
}
