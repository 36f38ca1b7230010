package planview

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// Contents has the current and the desired contents of one file on one host. A
// file that does not exist is empty.
type Contents struct {
	Host     string // "": the file belongs to no host
	Path     string
	Old, New []byte
	Withheld string // why the contents are not shown; "": they are shown
}

// Limits of the contents that are shown.
const (
	MaxContents  = 64 << 10 // bytes of a file
	maxDiffLines = 200      // lines of one difference
	maxAllLines  = 2000     // lines of all differences
)

// WithholdReason returns why contents must not be shown, or "".
func WithholdReason(data []byte, mode int, sensitive []string) string {
	switch {
	case mode >= 0 && mode&0o004 == 0:
		return "secret: not everybody on the host may read it"
	case len(data) > MaxContents:
		return fmt.Sprintf("larger than %d KiB", MaxContents>>10)
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return "binary"
	}
	if bytes.Contains(data, []byte("PRIVATE KEY-----")) {
		return "secret: it has a private key"
	}
	for _, s := range sensitive {
		if s = strings.TrimSpace(s); s != "" && bytes.Contains(data, []byte(s)) {
			return "secret: it has a sensitive value"
		}
	}
	return ""
}

// WriteContents writes differences line by line. Hosts with the same difference
// share one text.
func WriteContents(w io.Writer, list []Contents, style termtext.Style) error {
	if len(list) == 0 {
		return nil
	}
	var groups textutil.Groups[string, string]
	for _, c := range list {
		if groups.Add(c.diffText()); c.Host != "" {
			groups.Add(c.diffText(), c.Host)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", style.Bold("Contents"))
	lines := 0
	for i, text := range groups.Keys() {
		n := strings.Count(text, "\n")
		if lines += n; lines > maxAllLines {
			fmt.Fprintf(&b, "  and %s more; --limit shows fewer hosts\n", termtext.FormatCount(len(groups.Keys())-i, "difference", "differences"))
			break
		}
		if names := groups.Of(text); len(names) > 0 {
			fmt.Fprintf(&b, "  %s\n", style.Bold(termtext.FoldHosts(names)))
		}
		for line := range strings.Lines(text) {
			b.WriteString(paintLine(strings.TrimSuffix(line, "\n"), style) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func paintLine(line string, style termtext.Style) string {
	switch {
	case strings.HasPrefix(line, "      +"):
		return style.Green(line)
	case strings.HasPrefix(line, "      -"):
		return style.Red(line)
	}
	return line
}

// diffText formats the difference without the name of the host, so that equal differences can be folded.
func (c Contents) diffText() string {
	head := "    " + termtext.SafeLine(c.Path)
	if c.Withheld != "" {
		return head + ": not shown, as it is " + c.Withheld + "\n"
	}
	_, body, found := strings.Cut(string(diff.Diff("old", c.Old, "new", c.New)), "\n+++ new\n")
	if !found {
		return head + ": the contents stay\n"
	}
	var b strings.Builder
	b.WriteString(head + "\n")
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	for i, line := range lines {
		if i == maxDiffLines {
			fmt.Fprintf(&b, "      … and %s more\n", termtext.FormatCount(len(lines)-i, "line", "lines"))
			break
		}
		b.WriteString("      " + strings.ReplaceAll(textutil.Printable(line), "\n", " ") + "\n")
	}
	return b.String()
}
