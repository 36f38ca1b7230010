package inventory

import (
	"fmt"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"holdfast/engine/inventory/expression"
	"holdfast/engine/textutil"
)

// Errors holds all errors of an inventory.
type Errors struct {
	diags       hcl.Diagnostics
	files       map[string]*hcl.File
	hiddenFiles map[string]bool // files whose lines are not shown
	sensitive   []string        // values whose lines are not shown
}

// Len returns the number of errors.
func (e *Errors) Len() int { return len(e.diags) }

// Error returns for each error FILE:LINE:COLUMN, the cause, the advice, and the line with a mark below the mistake. It
// shows no values of expressions, no lines with a sensitive value and no lines of variable files, because they may be
// secret.
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
		fmt.Fprintf(b, "%s\n", e.redactText(expression.FormatDiagnostic(d)))
		return
	}
	at := d.Subject
	fmt.Fprintf(b, "%s:%d:%d: %s\n", at.Filename, at.Start.Line, at.Start.Column, e.redactText(expression.FormatDiagnostic(d)))
	line, ok := e.sourceLine(at, lines[at.Filename])
	if !ok {
		return
	}
	width := at.End.Column - at.Start.Column
	if at.End.Line != at.Start.Line {
		width = 1
	}
	fmt.Fprintln(b, textutil.MarkColumns(at.Start.Line, line, at.Start.Column, width))
}

// redactText removes sensitive values that a function quoted before they were known to be sensitive.
func (e *Errors) redactText(s string) string {
	return textutil.NewSecrets(e.sensitive).HideOutput(s, false)
}

// sourceLine returns false if output must not show the line.
func (e *Errors) sourceLine(at *hcl.Range, lines []string) (string, bool) {
	if at.Start.Line < 1 || at.Start.Line > len(lines) || e.hiddenFiles[at.Filename] {
		return "", false
	}
	line := strings.TrimSuffix(lines[at.Start.Line-1], "\r")
	return textutil.Printable(line), !containsSecret(line, e.sensitive)
}

func containsSecret(text string, sensitive []string) bool {
	return textutil.NewSecrets(sensitive).Hide(text) != text
}
