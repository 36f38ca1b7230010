package config

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
)

// Problem is one thing that is wrong with a document.
type Problem struct {
	Place engine.Place
	Text  string // what is wrong and what to do; never a value of the document
}

// String gives FILE:LINE:COLUMN: PATH: what is wrong.
func (p Problem) String() string { return p.Place.String() + ": " + engine.Printable(p.Text) }

// Errors is everything that is wrong with the documents of a host.
type Errors []Problem

// Error gives one line for each thing that is wrong.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// problems collects what is wrong and what is doubtful.
type problems struct {
	errors   Errors
	warnings Errors
	silenced map[engine.Place]bool // where all was said, without their paths
}

// silencePlace lets nothing more be said of a place.
func (p *problems) silencePlace(at engine.Place) {
	if p.silenced == nil {
		p.silenced = map[engine.Place]bool{}
	}
	at.Path = ""
	p.silenced[at] = true
}

// maxProblems is how many mistakes are noted of a document, and warnings.
const maxProblems = 10_000

func (p *problems) addError(at engine.Place, format string, args ...any) {
	if place := (engine.Place{File: at.File, Line: at.Line, Column: at.Column}); len(p.errors) >= maxProblems || p.silenced[place] {
		return
	}
	p.errors = append(p.errors, Problem{Place: at, Text: fmt.Sprintf(format, args...)})
}

func (p *problems) addWarning(at engine.Place, format string, args ...any) {
	if len(p.warnings) >= maxProblems {
		return
	}
	p.warnings = append(p.warnings, Problem{Place: at, Text: fmt.Sprintf(format, args...)})
}

// asError is everything that is wrong, in the order of the documents, each thing
// once; nil if nothing is.
func (p *problems) asError() error {
	if len(p.errors) == 0 {
		return nil
	}
	return sortProblems(p.errors)
}

func (p *problems) warningTexts() []string {
	var texts []string
	for _, w := range sortProblems(p.warnings) {
		texts = append(texts, w.String())
	}
	return texts
}

func sortProblems(list Errors) Errors {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Problem) int {
		if c := strings.Compare(a.Place.File, b.Place.File); c != 0 {
			return c
		}
		if a.Place.Line != b.Place.Line {
			return a.Place.Line - b.Place.Line
		}
		return a.Place.Column - b.Place.Column
	})
	list = slices.CompactFunc(list, func(a, b Problem) bool { return a == b })
	known := map[engine.Place]bool{}
	for _, p := range list {
		known[p.Place] = known[p.Place] || p.Text != unknownProblem
	}
	return slices.DeleteFunc(list, func(p Problem) bool { return p.Text == unknownProblem && known[p.Place] })
}
