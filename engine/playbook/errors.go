package playbook

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/textutil"
)

// Errors is everything that is wrong with a playbook.
type Errors struct {
	name     string   // of the file
	lines    []string // of the file
	problems []problem
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
func (e *Errors) Len() int { return len(e.problems) }

// addProblem notes a problem, once: what an alias repeats is wrong in one place.
func (e *Errors) addProblem(at place, what, advice string) {
	text := strings.ReplaceAll(what+"; "+advice, "\n", " ")
	p := problem{at, textutil.Printable(text)}
	if !slices.Contains(e.problems, p) {
		e.problems = append(e.problems, p)
	}
}

// Error gives, for each thing that is wrong, FILE:LINE:COLUMN, what it is and
// what to do, and the line with the place marked.
func (e *Errors) Error() string {
	list := slices.Clone(e.problems)
	slices.SortStableFunc(list, func(a, b problem) int {
		if a.line != b.line {
			return a.line - b.line
		}
		return a.column - b.column
	})
	var texts []string
	for _, p := range list {
		texts = append(texts, e.formatProblem(p))
	}
	return strings.Join(texts, "\n\n")
}

func (e *Errors) formatProblem(p problem) string {
	if p.line == 0 {
		return fmt.Sprintf("%s: %s", e.name, p.text)
	}
	head := fmt.Sprintf("%s:%d:%d: %s", e.name, p.line, p.column, p.text)
	if p.line > len(e.lines) {
		return head
	}
	return head + "\n" + textutil.Marked(p.line, e.lines[p.line-1], p.column, p.width)
}
