package inventory

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"holdfast/engine"
)

// Errors is everything that is wrong with an inventory.
type Errors struct {
	diags       hcl.Diagnostics
	files       map[string]*hcl.File
	hiddenFiles map[string]bool // files whose lines are not shown
	sensitive   []string        // values whose lines are not shown
}

// Len is how many things are wrong.
func (e *Errors) Len() int { return len(e.diags) }

// Error gives, for each thing that is wrong, FILE:LINE:COLUMN and what it is,
// the line with the place marked, and what to do. The values of expressions
// are not shown: they may be secret. Nor are lines that hold a sensitive value,
// and those of files of variables.
func (e *Errors) Error() string {
	diags := append(hcl.Diagnostics(nil), e.diags...)
	sort.SliceStable(diags, func(i, j int) bool { return isBefore(diags[i].Subject, diags[j].Subject) })
	var b strings.Builder
	lines := map[string][]string{}
	for name, file := range e.files {
		lines[name] = strings.Split(string(file.Bytes), "\n")
	}
	for i, d := range diags {
		if i > 0 {
			b.WriteString("\n")
		}
		e.writeError(&b, d, lines)
	}
	return strings.TrimRight(b.String(), "\n")
}

func isBefore(a, b *hcl.Range) bool {
	switch {
	case a == nil || b == nil:
		return a == nil && b != nil
	case a.Filename != b.Filename:
		return a.Filename < b.Filename
	}
	return a.Start.Byte < b.Start.Byte
}

func (e *Errors) writeError(b *strings.Builder, d *hcl.Diagnostic, lines map[string][]string) {
	if d.Subject == nil {
		fmt.Fprintf(b, "%s\n", e.redactText(formatDiagnostic(d)))
		return
	}
	at := d.Subject
	fmt.Fprintf(b, "%s:%d:%d: %s\n", at.Filename, at.Start.Line, at.Start.Column, e.redactText(formatDiagnostic(d)))
	line, ok := e.sourceLine(at, lines[at.Filename])
	if !ok {
		return
	}
	width := at.End.Column - at.Start.Column
	if at.End.Line != at.Start.Line {
		width = 1
	}
	fmt.Fprintln(b, engine.Marked(at.Start.Line, line, at.Start.Column, width))
}

// redactText takes out what a function quoted before it was known to be sensitive.
func (e *Errors) redactText(s string) string {
	longest := slices.Clone(e.sensitive) // first: one may contain another
	slices.SortFunc(longest, func(a, b string) int { return len(b) - len(a) })
	for _, secret := range longest {
		s = strings.ReplaceAll(s, secret, "(sensitive)")
	}
	return s
}

func formatDiagnostic(d *hcl.Diagnostic) string {
	s := strings.TrimSuffix(d.Summary, ".")
	if d.Detail != "" {
		s += ": " + strings.TrimSuffix(strings.ReplaceAll(d.Detail, "\n", " "), ".")
	}
	return engine.Printable(s)
}

// sourceLine gives the source line of a place, if it may be shown.
func (e *Errors) sourceLine(at *hcl.Range, lines []string) (string, bool) {
	if at.Start.Line < 1 || at.Start.Line > len(lines) || e.hiddenFiles[at.Filename] {
		return "", false
	}
	line := strings.TrimSuffix(lines[at.Start.Line-1], "\r")
	return engine.Printable(line), !containsSecret(line, e.sensitive)
}
