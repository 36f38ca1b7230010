package expression

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"holdfast/engine/textutil"
)

// These bounds hold for every inventory. Without them, a few bytes of HCL could use up memory or never end.
const (
	MaxSourceBytes = 8 << 20  // bytes of a file of HCL, and of a template
	maxValueBytes  = 64 << 20 // bytes of a value: of a file that file() reads, a result of a function, a local
	maxCalls       = 5_000_000
	maxItems       = 100_000 // values in the result of a function
	maxDepth       = 100     // nested brackets, templates and operators
	maxOperators   = 1_000   // in one expression
)

// ReadFile reads a file of at most maxBytes bytes. Its errors do not name the file.
func (e *Evaluator) ReadFile(name string, maxBytes int) ([]byte, error) {
	f, err := e.FS.Open(name)
	if err != nil {
		return nil, textutil.ErrorWithoutPath(err)
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errors.New("is a directory")
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(maxBytes)+1))
	if err != nil {
		return nil, textutil.ErrorWithoutPath(err)
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("has more than %d MiB, or never ends; name another file", maxBytes>>20)
	}
	return text, nil
}

// findTooDeep returns the first token that is nested too deep for the parser, which recurses, or nil.
func findTooDeep(tokens hclsyntax.Tokens) *hclsyntax.Token {
	levels := []nestingLevel{{}}
	directives := 0
	for i, t := range tokens {
		top := &levels[len(levels)-1]
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenTemplateInterp,
			hclsyntax.TokenTemplateControl, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			top.operators++
			levels = append(levels, nestingLevel{lines: t.Type == hclsyntax.TokenOBrace})
			if t.Type == hclsyntax.TokenTemplateControl && i+1 < len(tokens) {
				directives += depthChange(string(tokens[i+1].Bytes))
			}
		case hclsyntax.TokenCBrace, hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenTemplateSeqEnd,
			hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			if len(levels) > 1 {
				levels = levels[:len(levels)-1]
			}
		case hclsyntax.TokenComma:
			top.operators = 0
		case hclsyntax.TokenNewline, hclsyntax.TokenComment: // a comment contains the end of its line
			if top.lines || len(levels) == 1 {
				top.operators = 0
			}
		case hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit: // between parts of a template
			top.operators = 0
		case hclsyntax.TokenIdent, hclsyntax.TokenNumberLit, hclsyntax.TokenEOF:
		default:
			top.operators++
		}
		if top := levels[len(levels)-1]; len(levels)+directives > maxDepth || top.operators > maxOperators {
			return &t
		}
	}
	return nil
}

// nestingLevel is the text between two brackets.
type nestingLevel struct {
	lines     bool // a new line begins another expression
	operators int  // of the expression so far
}

func depthChange(word string) int {
	switch word {
	case "if", "for":
		return 1
	case "endif", "endfor":
		return -1
	}
	return 0
}

// CheckNesting returns an error for the first token that is nested too deep for the parser, or nil.
func CheckNesting(tokens hclsyntax.Tokens) *hcl.Diagnostic {
	t := findTooDeep(tokens)
	if t == nil {
		return nil
	}
	return &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: "nested too deep", Subject: &t.Range,
		Detail: fmt.Sprintf("an expression may have %d levels of brackets and templates, and %d operators; write it flatter, with locals", maxDepth, maxOperators),
	}
}
