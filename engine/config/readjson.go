package config

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/engine"
)

// maxDepth is how deep values may be nested; no document needs half of it.
const maxDepth = 100

// readJSON reads one JSON document. What is wrong goes to the problems, and
// the result is nil.
func readJSON(file, text string, report *problems) *node {
	if !utf8.ValidString(text) {
		report.add(engine.Place{File: file}, "is not UTF-8 text; save it as UTF-8")
		return nil
	}
	r := &jsonReader{file: file, text: text, report: report, line: 1, names: map[string]string{}}
	n := &node{}
	err := r.value(n, 0)
	if err == nil {
		err = r.end()
	}
	if err != nil {
		report.add(engine.Place{File: file, Line: r.line, Column: r.column()}, "%s", err)
		return nil
	}
	return n
}

// jsonReader reads a text from its beginning to its end, once.
type jsonReader struct {
	file   string
	text   string
	report *problems

	pos   int // how far it has come
	line  int // of pos, from 1
	start int // where that line begins
	wide  int // bytes of that line before pos that continue a character

	count int               // values so far
	names map[string]string // of fields, each once
}

// The texts of these errors quote nothing of the document: it may be secret.
var (
	errDeep    = errors.New("values are nested more than 100 deep; write them flatter")
	errMany    = errors.New("has more than 2000000 values; split the document")
	errAfter   = errors.New("something comes after the end of the document; keep one JSON document per file")
	errEarly   = errors.New("the JSON ends too early; close what is open")
	errInvalid = errors.New("is not valid JSON from here on; check commas, quotes and brackets")
)

func (r *jsonReader) column() int { return r.pos - r.start - r.wide + 1 }

// space goes to the next token and returns its first byte, 0 at the end.
func (r *jsonReader) space() byte {
	for ; r.pos < len(r.text); r.pos++ {
		switch c := r.text[r.pos]; c {
		case '\n':
			r.line, r.start, r.wide = r.line+1, r.pos+1, 0
		case ' ', '\t', '\r':
		default:
			return c
		}
	}
	return 0
}

func (r *jsonReader) end() error {
	if r.space(); r.pos < len(r.text) {
		return errAfter
	}
	return nil
}

// value reads the next value into n.
func (r *jsonReader) value(n *node, depth int) error {
	c := r.space()
	n.line, n.column = r.line, r.column()
	if r.count++; r.count > maxNodes {
		return errMany
	}
	switch {
	case depth > maxDepth:
		return errDeep
	case r.pos >= len(r.text):
		return errEarly
	case c == '{':
		n.kind = objectKind
		return r.object(n, depth)
	case c == '[':
		n.kind = listKind
		return r.list(n, depth)
	case c == '"':
		n.kind = textKind
		var err error
		n.scalar, err = r.string()
		return err
	}
	return r.literal(n)
}

// literal reads a number, true, false or null.
func (r *jsonReader) literal(n *node) error {
	rest := r.text[r.pos:]
	if end := strings.IndexAny(rest[:min(len(rest), 512)], " \t\r\n,]}:[{\""); end >= 0 {
		rest = rest[:end]
	}
	switch {
	case rest == "null":
		n.kind = nullKind
	case rest == "true", rest == "false":
		n.kind, n.scalar = boolKind, rest
	case json.Valid([]byte(rest)): // neither a string nor a list nor an object
		n.kind, n.scalar = numberKind, strings.Clone(rest)
	default:
		return errInvalid
	}
	r.pos += len(rest)
	return nil
}

// string reads the string at pos. A short one is copied, so that it does not
// keep the whole text.
func (r *jsonReader) string() (string, error) {
	from := r.pos + 1
	end, plain := from, true
	for {
		i := strings.IndexByte(r.text[end:], '"')
		if i < 0 {
			return "", errEarly
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
	wide, ok := measure(raw)
	if !ok {
		return "", errInvalid
	}
	s := raw
	if !plain && json.Unmarshal([]byte(r.text[from-1:end+1]), &s) != nil {
		return "", errInvalid
	}
	r.pos, r.wide = end+1, r.wide+wide
	if plain && len(s) <= shortText {
		s = strings.Clone(s)
	}
	return s, nil
}

// shortText is how long a string may be to be kept for as long as a document.
const shortText = 256

// measure counts the bytes that continue a character; false if a control
// character is among them, which JSON escapes.
func measure(s string) (wide int, ok bool) {
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

func (r *jsonReader) list(n *node, depth int) error {
	r.pos++
	if r.space() == ']' {
		r.pos++
		return nil
	}
	for {
		item := &node{}
		if err := r.value(item, depth+1); err != nil {
			return err
		}
		n.items = append(n.items, item)
		if more, err := r.more(']'); !more {
			return err
		}
	}
}

// more goes past the comma before the next item, or past the end of a list or
// an object.
func (r *jsonReader) more(end byte) (bool, error) {
	c := r.space()
	switch {
	case r.pos >= len(r.text):
		return false, errEarly
	case c != ',' && c != end:
		return false, errInvalid
	}
	r.pos++
	return c == ',', nil
}

func (r *jsonReader) object(n *node, depth int) error {
	r.pos++
	if r.space() == '}' {
		r.pos++
		return nil
	}
	var seen names
	for {
		k, err := r.key()
		if err != nil {
			return err
		}
		item := &node{}
		if err := r.value(item, depth+1); err != nil {
			return err
		}
		if !seen.add(k.name) {
			r.report.add(engine.Place{File: r.file, Line: k.line, Column: k.column}, "field %s is here twice; keep one", shorten(k.name))
		} else {
			n.keys, n.items = append(n.keys, k), append(n.items, item)
		}
		if more, err := r.more('}'); !more {
			return err
		}
	}
}

// key reads the name of a field and the colon after it.
func (r *jsonReader) key() (key, error) {
	c := r.space()
	k := key{line: r.line, column: r.column()}
	switch {
	case r.pos >= len(r.text):
		return k, errEarly
	case c != '"':
		return k, errInvalid
	}
	name, err := r.string()
	if err != nil {
		return k, err
	}
	if r.names[name] == "" {
		r.names[name] = strings.Clone(name)
	}
	k.name = r.names[name]
	switch c := r.space(); {
	case r.pos >= len(r.text):
		return k, errEarly
	case c != ':':
		return k, errInvalid
	}
	r.pos++
	return k, nil
}

// names is a set of names. The first few are in a list, as most objects have
// no more.
type names struct {
	list []string
	more map[string]bool
}

// add reports whether the name is new.
func (s *names) add(name string) bool {
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
