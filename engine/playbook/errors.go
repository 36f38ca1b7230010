package playbook

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
)

// Errors is everything that is wrong with a playbook.
type Errors struct {
	name  string   // of the file
	lines []string // of the file
	list  []problem
}

// problem is one thing that is wrong. What belongs to no place has line 0.
type problem struct {
	place
	text string
}

// place is where in the file something stands. Lines and columns count from 1,
// columns and width in characters.
type place struct{ line, column, width int }

// Len is how many things are wrong.
func (e *Errors) Len() int { return len(e.list) }

// add notes a problem, once: what an alias repeats is wrong in one place.
func (e *Errors) add(at place, what, advice string) {
	text := strings.ReplaceAll(what+"; "+advice, "\n", " ")
	p := problem{at, engine.Printable(text)}
	if !slices.Contains(e.list, p) {
		e.list = append(e.list, p)
	}
}

// Error gives, for each thing that is wrong, FILE:LINE:COLUMN, what it is and
// what to do, and the line with the place marked.
func (e *Errors) Error() string {
	list := slices.Clone(e.list)
	slices.SortStableFunc(list, func(a, b problem) int {
		if a.line != b.line {
			return a.line - b.line
		}
		return a.column - b.column
	})
	var texts []string
	for _, p := range list {
		texts = append(texts, e.show(p))
	}
	return strings.Join(texts, "\n\n")
}

func (e *Errors) show(p problem) string {
	if p.line == 0 {
		return fmt.Sprintf("%s: %s", e.name, p.text)
	}
	head := fmt.Sprintf("%s:%d:%d: %s", e.name, p.line, p.column, p.text)
	if p.line > len(e.lines) {
		return head
	}
	line, column := excerpt(e.lines[p.line-1], p.column)
	width := max(1, min(p.width, len([]rune(line))-column+1))
	number := fmt.Sprintf("%5d", p.line)
	return fmt.Sprintf("%s\n%s | %s\n%s | %s%s", head, number, engine.Printable(line),
		strings.Repeat(" ", len(number)), indent(line, column-1), strings.Repeat("^", width))
}

// excerpt is the part of a very long line that is around a column, and where
// that column is in it.
func excerpt(line string, column int) (string, int) {
	const long, before = 200, 80
	runes := []rune(line)
	if len(runes) <= long {
		return line, column
	}
	from := min(max(0, column-1-before), len(runes)-long)
	shown := string(runes[from : from+long])
	if from > 0 {
		shown, column = "…"+shown, column-from+1
	}
	if from+long < len(runes) {
		shown += "…"
	}
	return shown, column
}

// indent is white space as wide as the first n columns of a line.
func indent(line string, n int) string {
	var b strings.Builder
	for i, r := range []rune(line) {
		if i >= n {
			break
		}
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}
