package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"holdfast/engine"
)

// maxDepth is how deep values may be nested; no document needs half of it.
const maxDepth = 100

// readJSON reads one JSON document. What is wrong goes to the problems, and
// the result is nil.
func readJSON(file string, text []byte, report *problems) *node {
	r := &jsonReader{file: file, text: text, report: report, line: 1, column: 1, decoder: json.NewDecoder(bytes.NewReader(text))}
	r.decoder.UseNumber()
	if !utf8.Valid(text) {
		report.add(engine.Place{File: file}, "is not UTF-8 text; save it as UTF-8")
		return nil
	}
	n, err := r.value(0)
	if err == nil {
		err = r.end()
	}
	if err != nil {
		line, column := r.next()
		report.add(engine.Place{File: file, Line: line, Column: column}, "%s", cause(err))
		return nil
	}
	return n
}

type jsonReader struct {
	file    string
	text    []byte
	decoder *json.Decoder
	report  *problems

	offset, line, column int // where the last token began
}

var (
	errDeep  = errors.New("values are nested more than 100 deep; write them flatter")
	errAfter = errors.New("something comes after the end of the document; keep one JSON document per file")
)

// cause says what is wrong without quoting the text: it may be secret.
func cause(err error) string {
	if errors.Is(err, errDeep) || errors.Is(err, errAfter) {
		return err.Error()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the JSON ends too early; close what is open"
	}
	return "is not valid JSON from here on; check commas, quotes and brackets"
}

// next is the line and column, both from 1, where the next token begins. It
// counts on from where it was asked the last time: a document is often one
// long line.
func (r *jsonReader) next() (int, int) {
	offset := int(r.decoder.InputOffset())
	for offset < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[offset]) >= 0 {
		offset++
	}
	for passed := r.text[r.offset:max(offset, r.offset)]; len(passed) > 0; {
		line, rest, ended := bytes.Cut(passed, []byte("\n"))
		if r.column += utf8.RuneCount(line); ended {
			r.line, r.column = r.line+1, 1
		}
		passed = rest
	}
	r.offset = max(offset, r.offset)
	return r.line, r.column
}

func (r *jsonReader) end() error {
	if _, err := r.decoder.Token(); !errors.Is(err, io.EOF) {
		return errAfter
	}
	return nil
}

func (r *jsonReader) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	n := &node{}
	n.line, n.column = r.next()
	token, err := r.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case nil:
		n.kind = nullKind
	case bool:
		n.kind, n.scalar = boolKind, "false"
		if t {
			n.scalar = "true"
		}
	case json.Number:
		n.kind, n.scalar = numberKind, t.String()
	case string:
		n.kind, n.scalar = textKind, t
	case json.Delim:
		if t == '[' {
			n.kind = listKind
			return n, r.list(n, depth)
		}
		n.kind = objectKind
		return n, r.object(n, depth)
	}
	return n, nil
}

func (r *jsonReader) list(n *node, depth int) error {
	for r.decoder.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := r.decoder.Token()
	return err
}

func (r *jsonReader) object(n *node, depth int) error {
	seen := map[string]bool{}
	for r.decoder.More() {
		k := key{}
		k.line, k.column = r.next()
		token, err := r.decoder.Token()
		if err != nil {
			return err
		}
		k.name, _ = token.(string)
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		if seen[k.name] {
			r.report.add(engine.Place{File: r.file, Line: k.line, Column: k.column}, "field %s is here twice; keep one", shorten(k.name))
			continue
		}
		seen[k.name] = true
		n.keys = append(n.keys, k)
		n.items = append(n.items, item)
	}
	_, err := r.decoder.Token()
	return err
}
