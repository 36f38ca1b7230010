package playbook

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/textutil"
)

// Errors lists all errors in a playbook.
type Errors struct {
	name     string   // file name for messages
	lines    []string // text of the file
	problems []problem
}

// problem is one error. Line 0 means that it has no position in the file.
type problem struct {
	place
	text string
}

// place is a position in the file. Lines and columns count from 1; columns and
// width are in characters.
type place struct{ line, column, width int }

// Len returns the number of errors.
func (e *Errors) Len() int { return len(e.problems) }

// addProblem adds no error twice: an alias can repeat an error at the same position.
func (e *Errors) addProblem(at place, problemText, advice string) {
	text := strings.ReplaceAll(problemText+"; "+advice, "\n", " ")
	p := problem{at, textutil.Printable(text)}
	if !slices.Contains(e.problems, p) {
		e.problems = append(e.problems, p)
	}
}

// Error formats each error as FILE:LINE:COLUMN, cause and next step, followed
// by the marked line.
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
	return head + "\n" + textutil.MarkColumns(p.line, e.lines[p.line-1], p.column, p.width)
}
