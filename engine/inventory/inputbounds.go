package inventory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Bounds of an inventory: a few bytes of HCL could otherwise use up memory or never end.
const (
	maxSourceBytes = 8 << 20  // bytes of a file of HCL, and of a template
	maxValueBytes  = 64 << 20 // bytes of a value: of a file that file() reads, a result of a function, a local
	maxAllBytes    = 1 << 30  // bytes of all results of functions
	maxCalls       = 5_000_000
	maxItems       = 100_000 // values in the result of a function
	maxDepth       = 100     // nested brackets, templates and operators
	maxOperators   = 1_000   // in one expression
)

// Bounds of a whole inventory. Tests lower them.
var (
	maxAllItems = 20_000_000 // values in all results of functions
	maxRounds   = 5_000_000  // of all loops
)

func (l *loader) readFile(name string, maxBytes int) ([]byte, error) {
	f, err := l.src.FS.Open(name)
	if err != nil {
		return nil, pathErrorCause(err)
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(maxBytes)+1))
	if err != nil {
		return nil, pathErrorCause(err)
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
		case hclsyntax.TokenNewline, hclsyntax.TokenComment: // it ends its line
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

// depthChange returns 1 for a directive that opens a level of a template, -1 for one that closes it.
func depthChange(word string) int {
	switch word {
	case "if", "for":
		return 1
	case "endif", "endfor":
		return -1
	}
	return 0
}

func (l *loader) checkNesting(text []byte, shown string) bool {
	tokens, _ := hclsyntax.LexConfig(text, shown, hcl.InitialPos) // the parser reports the error
	if t := findTooDeep(tokens); t != nil {
		l.addError(t.Range, "nested too deep", nestingAdvice)
		return false
	}
	return true
}

var nestingAdvice = fmt.Sprintf("an expression may have %d levels of brackets and templates, and %d operators; write it flatter, with locals", maxDepth, maxOperators)
