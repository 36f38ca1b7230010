package config

import (
	"reflect"
	"strconv"
	"strings"

	"holdfast/engine"
)

// shape checks that a value has the fields and types of a Go type, by the
// names in its json tags. encoding/json alone would drop unknown fields and
// take others for known ones that differ in case.
type shape struct {
	file   string
	format string // what the document is, for messages
	report *problems
	fields map[reflect.Type]map[string]reflect.Type
}

func (s shape) place(n *node, p steps) engine.Place {
	return engine.Place{File: s.file, Line: n.line, Column: n.column, Path: p.String()}
}

func (s *shape) check(n *node, t reflect.Type, p steps) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.kind == nullKind || t.Kind() == reflect.Interface {
		return
	}
	switch want := kindOf(t); {
	case n.kind != want:
		s.report.add(s.place(n, p), "must be %s and is %s%s", want, n.kind, hint(want, n.kind))
		s.blank(n, p)
	case t.Kind() == reflect.Struct:
		s.object(n, t, p)
	case t.Kind() == reflect.Slice:
		for i, item := range n.items {
			s.item(item, t.Elem(), p.with(i))
		}
	case t.Kind() == reflect.Int:
		if _, err := strconv.Atoi(n.scalar); err != nil {
			s.report.add(s.place(n, p), "must be a whole number")
			s.blank(n, p)
		}
	}
}

// blank takes out a value of the wrong type, so that the rest of the document
// can be looked at. That it is missing then is not to be said.
func (s *shape) blank(n *node, p steps) {
	n.kind, n.scalar, n.keys, n.items = nullKind, "", nil, nil
	s.report.hush(s.place(n, p))
}

// item checks one of a list. A null there would become an empty value.
func (s *shape) item(n *node, t reflect.Type, p steps) {
	if n.kind == nullKind {
		s.report.add(s.place(n, p), "is null; write it out or remove it")
		return
	}
	s.check(n, t, p)
}

func (s *shape) object(n *node, t reflect.Type, p steps) {
	fields := s.fields[t]
	if fields == nil {
		if fields = fieldsOf(t, map[string]reflect.Type{}); s.fields == nil {
			s.fields = map[reflect.Type]map[string]reflect.Type{}
		}
		s.fields[t] = fields
	}
	for i, k := range n.keys {
		field, ok := fields[k.name]
		if !ok {
			at := engine.Place{File: s.file, Line: k.line, Column: k.column, Path: p.with(k.name).String()}
			s.report.add(at, "is not a field of %s; %s", s.format, instead(k.name, fields))
			continue
		}
		s.check(n.items[i], field, p.with(k.name))
	}
}

// instead says which field was meant, if one differs in case or punctuation
// only.
func instead(name string, fields map[string]reflect.Type) string {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	for field := range fields {
		if plain(field) == plain(name) {
			return "write " + field
		}
	}
	return "correct its name or remove it"
}

func hint(want, is kind) string {
	switch {
	case want == boolKind && is == textKind:
		return "; write true or false, without quotes"
	case want == numberKind && is == textKind:
		return "; write it without quotes"
	case want == textKind && (is == numberKind || is == boolKind):
		return "; put it in quotes"
	}
	return ""
}

func kindOf(t reflect.Type) kind {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return objectKind
	case reflect.Slice:
		return listKind
	case reflect.Bool:
		return boolKind
	case reflect.Int:
		return numberKind
	}
	return textKind
}

// fieldsOf gives the fields of a struct, those of embedded ones among them.
func fieldsOf(t reflect.Type, fields map[string]reflect.Type) map[string]reflect.Type {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			fieldsOf(f.Type, fields)
		case name != "":
			fields[name] = f.Type
		}
	}
	return fields
}
