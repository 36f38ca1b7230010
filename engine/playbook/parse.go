package playbook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// The limits of a playbook. A few aliases can expand to billions of values.
const (
	maxSize  = 1 << 20 // bytes
	maxNodes = 100_000 // values, including those that aliases repeat
	maxDepth = 32
)

func (l *loader) parseDocument(text []byte) *yaml.Node {
	if !l.checkEncoding(text) {
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	root, err := decodeDocument(dec)
	if errors.Is(err, io.EOF) {
		l.errs.addProblem(place{line: 1, column: 1}, "the file has no plays", "a playbook is a list of plays: - hosts: …")
		return nil
	}
	if err != nil {
		l.reportSyntaxError(text, err)
		return nil
	}
	second, err := decodeDocument(dec)
	switch {
	case err == nil:
		l.errs.addProblem(place{line: second.Line, column: second.Column}, "a second YAML document begins before this", "a playbook is one document; remove the line with ---")
		return nil
	case !errors.Is(err, io.EOF):
		l.reportSyntaxError(text, err)
		return nil
	}
	count := 0
	if !l.checkBounds(root, 0, &count) {
		return nil
	}
	return root.Content[0]
}

func decodeDocument(dec *yaml.Decoder) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil { // the library panics on some inputs
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	root = &yaml.Node{}
	err = dec.Decode(root)
	return root, err
}

// checkEncoding runs before the YAML library, whose messages about size and encoding do not help.
func (l *loader) checkEncoding(text []byte) bool {
	start := place{line: 1, column: 1, width: 1}
	switch {
	case len(text) > maxSize:
		l.errs.addProblem(place{}, fmt.Sprintf("the file is larger than %d KiB", maxSize>>10), "split it")
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		l.errs.addProblem(start, "the file begins with a byte order mark", "save it as UTF-8 without one")
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		l.errs.addProblem(place{}, "the file is UTF-16", "save it as UTF-8")
	case !utf8.Valid(text):
		line := 1
		for bad := range bytes.SplitSeq(text, []byte("\n")) {
			if !utf8.Valid(bad) {
				break
			}
			line++
		}
		l.errs.addProblem(place{line: line, column: 1, width: 1}, "the line is not UTF-8", "save the file as UTF-8")
	default:
		return true
	}
	return false
}

// checkBounds counts expanded aliases, so that later code can follow aliases safely.
func (l *loader) checkBounds(n *yaml.Node, depth int, count *int) bool {
	*count++
	at := place{line: n.Line, column: n.Column, width: 1}
	if depth > maxDepth {
		l.errs.addProblem(at, fmt.Sprintf("this is nested more than %d deep, or contains itself", maxDepth), "write it flatter")
		return false
	}
	if *count > maxNodes {
		l.errs.addProblem(at, fmt.Sprintf("the file has more than %d values, including those that aliases repeat", maxNodes), "use fewer aliases")
		return false
	}
	if n.Kind == yaml.AliasNode {
		return l.checkBounds(n.Alias, depth+1, count)
	}
	for _, c := range n.Content {
		if !l.checkBounds(c, depth+1, count) {
			return false
		}
	}
	return true
}

var (
	yamlLine   = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)
	tabIndent  = regexp.MustCompile(`^[ -]*\t`)
	afterQuote = regexp.MustCompile(`: ("[^"]*"|'[^']*') *[^ #]`)
	tagStart   = regexp.MustCompile(`[:-] +!`)
	secondPair = regexp.MustCompile(`: .*?(: |:$)`)
)

// syntaxAdvice lists parts of messages of the YAML library, with advice.
var syntaxAdvice = [][2]string{
	{"mapping values are not allowed", `text that contains ": " needs quotes; else check the indentation`},
	{"cannot start any token", "text that begins with %, @ or ` needs quotes"},
	{"unexpected end of stream", "close the quote that is open here"},
	{"expected ',' or", "close the bracket or brace that is open here"},
	{"incompatible YAML document", "remove the line with %YAML"},
	{"unknown anchor", "define it with &NAME before, or put text that begins with * in quotes"},
	{"did not find expected", "check the indentation: elements of a list or mapping begin in the same column"},
}

func (l *loader) reportSyntaxError(text []byte, err error) {
	m := yamlLine.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	cause, advice := "this is not YAML", "check indentation, quotes and colons"
	line := 1
	if m != nil {
		cause = "this is not YAML: " + m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
		for _, a := range syntaxAdvice {
			if strings.Contains(m[2], a[0]) {
				advice = a[1]
				break
			}
		}
	}
	line = min(l.firstBadLine(text, line), max(1, len(l.errs.lines)))
	source := ""
	if line <= len(l.errs.lines) {
		source = l.errs.lines[line-1]
	}
	at := place{line: line, column: 1 + len(source) - len(strings.TrimLeft(source, " \t")), width: 1}
	switch pair := secondPair.FindStringSubmatchIndex(source); {
	case tabIndent.MatchString(source):
		at.column = 1 + strings.IndexByte(source, '\t')
		cause, advice = "the indentation has a tab", "use spaces"
	case strings.Contains(cause, "expected key") && afterQuote.MatchString(source):
		advice = "a value that begins with a quote ends with it: put all of it in quotes of the other kind"
	case tagStart.MatchString(source):
		advice = "a value that begins with ! needs quotes"
	case strings.Contains(cause, "mapping values") && pair != nil:
		at.column = 1 + utf8.RuneCountInString(source[:pair[2]])
	}
	l.errs.addProblem(at, cause, advice)
}

// firstBadLine returns the line after the longest beginning of the text that is
// valid YAML. The library reports only the line where the enclosing list or
// mapping begins. For a text of more than 500 lines, firstBadLine returns the
// library's line.
func (l *loader) firstBadLine(text []byte, given int) int {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) > 500 {
		return given
	}
	for n := len(lines) - 1; n > 0; n-- {
		part := bytes.Join(lines[:n], nil)
		dec := yaml.NewDecoder(bytes.NewReader(part))
		var err error
		for err == nil {
			_, err = decodeDocument(dec)
		}
		if errors.Is(err, io.EOF) {
			return n + 1
		}
	}
	return 1
}
