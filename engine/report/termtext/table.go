package termtext

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/charmbracelet/x/ansi"

	"holdfast/engine/textutil"
)

// WriteTable writes rows with aligned columns. It makes their texts printable.
func WriteTable(w io.Writer, rows [][]string) error {
	if columns, narrow := isTooNarrow(w, rows); narrow {
		return writeNarrow(w, rows, columns)
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 2, 0, 2, ' ', 0)
	for _, r := range rows {
		for i := range r {
			r[i] = OneLine(textutil.Printable(r[i]))
		}
		_, _ = fmt.Fprintln(t, strings.Join(r, "\t")) // writing to a strings.Builder never fails
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// MaxTableWidth is the width above which the last column of a row goes to a
// line below the row. A row may still exceed this width if its other columns
// are wide.
const MaxTableWidth = 140

// WriteLongTable writes a table. If a row exceeds MaxTableWidth, its last
// column goes to a line below.
func WriteLongTable(w io.Writer, rows [][]string) error {
	return WriteTableWithNotes(w, rows, func([]string) int { return MaxTableWidth })
}

// WriteTableWithNotes writes a table. If a row exceeds its maximum width, which
// mayBe returns, its last column goes to a line below.
func WriteTableWithNotes(w io.Writer, rows [][]string, mayBe func(row []string) int) error {
	if columns, narrow := isTooNarrow(w, rows); narrow {
		return writeNarrow(w, rows, columns)
	}
	wide := 0
	for n := range len(rows[0]) - 1 {
		column := 0
		for _, r := range rows {
			column = max(column, ansi.StringWidth(r[n]))
		}
		wide += column + 2
	}
	below := make([]string, len(rows))
	for i, r := range rows {
		last := len(r) - 1
		if text := OneLine(textutil.Printable(r[last])); wide+ansi.StringWidth(text) > mayBe(r) {
			below[i], r[last] = Wrap("    ", text), ""
		}
	}
	var b strings.Builder
	_ = WriteTable(&b, rows) // writing to a strings.Builder never fails
	i := 0
	for line := range strings.Lines(b.String()) {
		if _, err := io.WriteString(w, line+below[i]); err != nil {
			return err
		}
		i++
	}
	return nil
}
