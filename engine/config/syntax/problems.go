package syntax

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/resource"
	"holdfast/engine/textutil"
)

// Problem is one error or warning about a document.
type Problem struct {
	Place resource.SourcePosition
	Text  string // cause and next step; never a value of the document
	Vague bool   // Text names no cause; another problem of the same place replaces it
}

// String formats the problem as FILE:LINE:COLUMN: PATH: TEXT.
func (p Problem) String() string { return p.Place.String() + ": " + textutil.Printable(p.Text) }

// Errors lists all errors in the documents of a host.
type Errors []Problem

// Error formats each error on a line of its own.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Problems collects errors and warnings.
type Problems struct {
	Errors   Errors
	Warnings Errors
	silenced map[resource.SourcePosition]bool // places without paths at which further errors are dropped
}

func (p *Problems) silencePlace(at resource.SourcePosition) {
	if p.silenced == nil {
		p.silenced = map[resource.SourcePosition]bool{}
	}
	at.Path = ""
	p.silenced[at] = true
}

// maxProblems is the maximum number of errors kept for a document, and of
// warnings.
const maxProblems = 10_000

// Explanation replaces a message of a library.
type Explanation struct {
	Text  string // cause and next step; never a value of the document
	Vague bool   // Text names no cause, because the message has no translation
}

// VagueExplanation returns the explanation of a message that has no translation.
func VagueExplanation() Explanation {
	return Explanation{Text: "is not valid; compare it with the specification of Ignition or Butane", Vague: true}
}

// AddError adds an error unless its place is silenced.
func (p *Problems) AddError(at resource.SourcePosition, format string, args ...any) {
	p.AddExplanation(at, Explanation{Text: fmt.Sprintf(format, args...)})
}

// AddExplanation adds an error that a library has found, unless its place is silenced.
func (p *Problems) AddExplanation(at resource.SourcePosition, e Explanation) {
	if place := (resource.SourcePosition{File: at.File, Line: at.Line, Column: at.Column}); len(p.Errors) >= maxProblems || p.silenced[place] {
		return
	}
	p.Errors = append(p.Errors, Problem{Place: at, Text: e.Text, Vague: e.Vague})
}

// AddWarning adds a warning.
func (p *Problems) AddWarning(at resource.SourcePosition, format string, args ...any) {
	if len(p.Warnings) >= maxProblems {
		return
	}
	p.Warnings = append(p.Warnings, Problem{Place: at, Text: fmt.Sprintf(format, args...)})
}

// AsError returns all errors in the order of their places, or nil.
func (p *Problems) AsError() error {
	if len(p.Errors) == 0 {
		return nil
	}
	return sortProblems(p.Errors)
}

// WarningTexts returns all warnings in the order of their places.
func (p *Problems) WarningTexts() []string {
	var texts []string
	for _, w := range sortProblems(p.Warnings) {
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
	known := map[resource.SourcePosition]bool{}
	for _, p := range list {
		known[p.Place] = known[p.Place] || !p.Vague
	}
	return slices.DeleteFunc(list, func(p Problem) bool { return p.Vague && known[p.Place] })
}
