package syntax

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/engine/resource"
)

// maxDepth is the maximum nesting depth of values. Real documents need less
// than half of it.
const maxDepth = 100

// ReadJSON parses a JSON document. On failure it reports an error and returns nil.
func ReadJSON(file, text string, report *Problems) *Node {
	if !utf8.ValidString(text) {
		report.AddError(resource.SourcePosition{File: file}, "is not UTF-8 text; save it as UTF-8")
		return nil
	}
	r := &jsonReader{file: file, text: text, report: report, line: 1, names: map[string]string{}}
	n := &Node{}
	err := r.readValue(n, 0)
	if err == nil {
		err = r.expectEnd()
	}
	if err != nil {
		report.AddError(resource.SourcePosition{File: file, Line: r.line, Column: r.column()}, "%s", err)
		return nil
	}
	return n
}

// jsonReader reads a text once, from beginning to end.
type jsonReader struct {
	file   string
	text   string
	report *Problems

	pos           int // offset of the next byte
	line          int // line of pos, from 1
	start         int // offset of the beginning of that line
	continuations int // UTF-8 continuation bytes before pos in that line

	count int               // number of values read
	names map[string]string // names of fields, to store each only once
}

// These errors quote nothing of the document, because it may be secret.
var (
	errTooDeep       = errors.New("values are nested more than 100 deep; write them flatter")
	errTooManyValues = errors.New("has more than 2000000 values; split the document")
	errTrailingText  = errors.New("something comes after the end of the document; keep one JSON document per file")
	errUnexpectedEnd = errors.New("the JSON ends too early; close all quotes and brackets")
	errInvalid       = errors.New("is not valid JSON from here on; check commas, quotes and brackets")
)

func (r *jsonReader) column() int { return r.pos - r.start - r.continuations + 1 }

// skipSpace moves to the next token and returns its first byte, or 0 at the
// end.
func (r *jsonReader) skipSpace() byte {
	for ; r.pos < len(r.text); r.pos++ {
		switch c := r.text[r.pos]; c {
		case '\n':
			r.line, r.start, r.continuations = r.line+1, r.pos+1, 0
		case ' ', '\t', '\r':
		default:
			return c
		}
	}
	return 0
}

func (r *jsonReader) expectEnd() error {
	if r.skipSpace(); r.pos < len(r.text) {
		return errTrailingText
	}
	return nil
}

func (r *jsonReader) readValue(n *Node, depth int) error {
	c := r.skipSpace()
	n.Line, n.Column = r.line, r.column()
	if r.count++; r.count > maxNodes {
		return errTooManyValues
	}
	switch {
	case depth > maxDepth:
		return errTooDeep
	case r.pos >= len(r.text):
		return errUnexpectedEnd
	case c == '{':
		n.Kind = ObjectKind
		return r.readObject(n, depth)
	case c == '[':
		n.Kind = ListKind
		return r.readList(n, depth)
	case c == '"':
		n.Kind = TextKind
		var err error
		n.Scalar, err = r.readString()
		return err
	}
	return r.readLiteral(n)
}

func (r *jsonReader) readLiteral(n *Node) error {
	rest := r.text[r.pos:]
	if end := strings.IndexAny(rest[:min(len(rest), 512)], " \t\r\n,]}:[{\""); end >= 0 {
		rest = rest[:end]
	}
	switch {
	case rest == "null":
		n.Kind = NullKind
	case rest == "true", rest == "false":
		n.Kind, n.Scalar = BoolKind, rest
	case json.Valid([]byte(rest)): // a number: readValue handles strings, lists and objects
		n.Kind, n.Scalar = NumberKind, strings.Clone(rest)
	default:
		return errInvalid
	}
	r.pos += len(rest)
	return nil
}

// readString copies a short string, because a substring would keep the whole text in memory.
func (r *jsonReader) readString() (string, error) {
	from := r.pos + 1
	end, plain := from, true
	for {
		i := strings.IndexByte(r.text[end:], '"')
		if i < 0 {
			return "", errUnexpectedEnd
		}
		part := r.text[end : end+i]
		end += i
		if !strings.Contains(part, `\`) {
			break
		}
		plain = false
		if slashes := len(part) - len(strings.TrimRight(part, `\`)); slashes%2 == 0 {
			break
		}
		end++ // the quote is escaped
	}
	raw := r.text[from:end]
	wide, ok := countContinuations(raw)
	if !ok {
		return "", errInvalid
	}
	s := raw
	if !plain && json.Unmarshal([]byte(r.text[from-1:end+1]), &s) != nil {
		return "", errInvalid
	}
	r.pos, r.continuations = end+1, r.continuations+wide
	if plain && len(s) <= shortText {
		s = strings.Clone(s)
	}
	return s, nil
}

// shortText is the maximum length of a string that is kept as long as its
// document.
const shortText = 256

// countContinuations counts UTF-8 continuation bytes. ok is false if s has a
// control character, which JSON must escape.
func countContinuations(s string) (wide int, ok bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ':
			return 0, false
		case c >= utf8.RuneSelf && !utf8.RuneStart(c):
			wide++
		}
	}
	return wide, true
}

func (r *jsonReader) readList(n *Node, depth int) error {
	r.pos++
	if r.skipSpace() == ']' {
		r.pos++
		return nil
	}
	for {
		item := &Node{}
		if err := r.readValue(item, depth+1); err != nil {
			return err
		}
		n.Items = append(n.Items, item)
		if more, err := r.nextItem(']'); !more {
			return err
		}
	}
}

// nextItem skips the comma before the next item, or the end of a list or an
// object. It returns false at the end.
func (r *jsonReader) nextItem(end byte) (bool, error) {
	c := r.skipSpace()
	switch {
	case r.pos >= len(r.text):
		return false, errUnexpectedEnd
	case c != ',' && c != end:
		return false, errInvalid
	}
	r.pos++
	return c == ',', nil
}

func (r *jsonReader) readObject(n *Node, depth int) error {
	r.pos++
	if r.skipSpace() == '}' {
		r.pos++
		return nil
	}
	var seen nameSet
	for {
		k, err := r.readKey()
		if err != nil {
			return err
		}
		item := &Node{}
		if err := r.readValue(item, depth+1); err != nil {
			return err
		}
		if !seen.addName(k.Name) {
			r.report.AddError(resource.SourcePosition{File: r.file, Line: k.Line, Column: k.Column}, "field %s is duplicated; keep one", ShortenName(k.Name))
		} else {
			n.Keys, n.Items = append(n.Keys, k), append(n.Items, item)
		}
		if more, err := r.nextItem('}'); !more {
			return err
		}
	}
}

func (r *jsonReader) readKey() (Key, error) {
	c := r.skipSpace()
	k := Key{Line: r.line, Column: r.column()}
	switch {
	case r.pos >= len(r.text):
		return k, errUnexpectedEnd
	case c != '"':
		return k, errInvalid
	}
	name, err := r.readString()
	if err != nil {
		return k, err
	}
	if r.names[name] == "" {
		r.names[name] = strings.Clone(name)
	}
	k.Name = r.names[name]
	switch c := r.skipSpace(); {
	case r.pos >= len(r.text):
		return k, errUnexpectedEnd
	case c != ':':
		return k, errInvalid
	}
	r.pos++
	return k, nil
}

// nameSet is a set of names. It keeps the first names in a list, because most
// objects have only a few.
type nameSet struct {
	list []string
	more map[string]bool
}

func (s *nameSet) addName(name string) bool {
	if slices.Contains(s.list, name) || s.more[name] {
		return false
	}
	switch {
	case len(s.list) < 16:
		s.list = append(s.list, name)
	case s.more == nil:
		s.more = map[string]bool{name: true}
	default:
		s.more[name] = true
	}
	return true
}
