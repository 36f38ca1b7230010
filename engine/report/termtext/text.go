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
	case t < 10*time.Second:
		return fmt.Sprintf("%.1f s", t.Seconds())
	case t < 2*time.Minute:
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

// ShortenText returns the first line of a text, cut at maxCause.
func ShortenText(text string) string {
	line, more, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > maxCause {
		line, more = strings.ToValidUTF8(line[:maxCause], ""), "more"
	}
	if strings.TrimSpace(more) == "" {
		return line
	}
	return strings.TrimSpace(line) + " …"
}

// Wrap breaks a text into indented lines of at most Width columns.
func Wrap(indent, text string) string {
	var b strings.Builder
	line := indent
	for _, word := range strings.Fields(text) {
		if line != indent && ansi.StringWidth(line+" "+word) > Width {
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

// FormatLatency formats a latency that is given in seconds: in milliseconds below
// 1 s, else in seconds. It shows one decimal place below 10 ms and from 1 s on.
func FormatLatency(seconds float64) string {
	switch ms := seconds * 1000; {
	case ms == 0:
		return "0 ms"
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", seconds)
}
