package termtext

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"holdfast/engine/textutil"
)

// sized is a writer to a terminal with this number of columns.
type sized struct {
	io.Writer
	columns int
}

// Sized returns a writer for a terminal: tables that are too wide for it have their last columns below the rows, so that
// the terminal breaks no words. With 0 columns, the size is not known.
func Sized(w io.Writer, columns int) io.Writer {
	if columns <= 0 {
		return w
	}
	return sized{w, columns}
}

// ColumnsOf returns the columns of a writer that Sized has returned, or 0.
func ColumnsOf(w io.Writer) int {
	terminal, _ := w.(sized)
	return terminal.columns
}

// isTooNarrow reports whether a terminal is too narrow for a table.
func isTooNarrow(w io.Writer, rows [][]string) (columns int, narrow bool) {
	terminal, ok := w.(sized)
	if !ok || len(rows) == 0 {
		return 0, false
	}
	all := 0
	for _, width := range columnWidths(rows) {
		all += width + 2
	}
	return terminal.columns, all-2 > terminal.columns
}

func columnWidths(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i := range min(len(r), len(widths)) {
			widths[i] = max(widths[i], ansi.StringWidth(printableCell(r[i])))
		}
	}
	return widths
}

func printableCell(text string) string { return OneLine(textutil.Printable(text)) }

// writeNarrow writes as many columns as fit, and the others below each row, with their headings.
func writeNarrow(w io.Writer, rows [][]string, columns int) error {
	fit, used := 0, 0
	for _, width := range columnWidths(rows) {
		if used += width + 2; fit > 0 && used-2 > columns {
			break
		}
		fit++
	}
	var head strings.Builder
	var table [][]string
	for _, r := range rows {
		table = append(table, append([]string(nil), r[:min(fit, len(r))]...))
	}
	if err := WriteTable(&head, table); err != nil {
		return err
	}
	i := 0
	for line := range strings.Lines(head.String()) {
		if i > 0 {
			line += belowRow(rows[0], rows[i], fit, columns)
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
		i++
	}
	return nil
}

func belowRow(headings, row []string, from, columns int) string {
	var parts []string
	for i := from; i < len(row); i++ {
		if text := printableCell(row[i]); text != "" && text != "-" {
			parts = append(parts, strings.ToLower(strings.TrimSpace(headings[i]))+" "+text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return wrapTo(columns, "    ", strings.Join(parts, ", "))
}
