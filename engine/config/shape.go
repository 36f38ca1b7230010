package config

import (
	"reflect"
	"strconv"
	"strings"

	"holdfast/engine"
)

// shapeChecker checks that a value has the fields and types of a Go type, by
// the names in its json tags. encoding/json would ignore unknown fields, and
// would accept names in other case.
type shapeChecker struct {
	file   string
	format string // kind of document, for messages
	report *problems
	fields map[reflect.Type]map[string]reflect.Type
}

func (s shapeChecker) nodePlace(n *node, p fieldPath) engine.SourcePosition {
	return engine.SourcePosition{File: s.file, Line: n.line, Column: n.column, Path: p.String()}
}

func (s *shapeChecker) checkValue(n *node, t reflect.Type, p fieldPath) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.kind == nullKind || t.Kind() == reflect.Interface {
		return
	}
	switch want := kindOfType(t); {
	case n.kind != want:
		s.report.addError(s.nodePlace(n, p), "must be %s, not %s%s", want, n.kind, typeAdvice(want, n.kind))
		s.clearValue(n, p)
	case t.Kind() == reflect.Struct:
		s.checkObject(n, t, p)
	case t.Kind() == reflect.Slice:
		for i, item := range n.items {
			s.checkItem(item, t.Elem(), p.with(i))
		}
	case t.Kind() == reflect.Int:
		if _, err := strconv.Atoi(n.scalar); err != nil {
			s.report.addError(s.nodePlace(n, p), "must be a whole number")
			s.clearValue(n, p)
		}
	}
}

// clearValue removes a value of the wrong type, so that the check of the
// document can continue. Errors about the missing value are dropped.
func (s *shapeChecker) clearValue(n *node, p fieldPath) {
	n.kind, n.scalar, n.keys, n.items = nullKind, "", nil, nil
	s.report.silencePlace(s.nodePlace(n, p))
}

// checkItem checks an item of a list. It refuses null, which would become an
// empty value.
func (s *shapeChecker) checkItem(n *node, t reflect.Type, p fieldPath) {
	if n.kind == nullKind {
		s.report.addError(s.nodePlace(n, p), "is null; set a value or remove it")
		return
	}
	s.checkValue(n, t, p)
}

func (s *shapeChecker) checkObject(n *node, t reflect.Type, p fieldPath) {
	fields := s.fields[t]
	if fields == nil {
		if fields = structFields(t, map[string]reflect.Type{}); s.fields == nil {
			s.fields = map[reflect.Type]map[string]reflect.Type{}
		}
		s.fields[t] = fields
	}
	for i, k := range n.keys {
		field, ok := fields[k.name]
		if !ok {
			at := engine.SourcePosition{File: s.file, Line: k.line, Column: k.column, Path: p.with(k.name).String()}
			s.report.addError(at, "is not a field of %s; %s", s.format, fieldAdvice(k.name, fields))
			continue
		}
		s.checkValue(n.items[i], field, p.with(k.name))
	}
}

func fieldAdvice(name string, fields map[string]reflect.Type) string {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	for field := range fields {
		if plain(field) == plain(name) {
			return "write " + field
		}
	}
	return "correct its name or remove it"
}

func typeAdvice(want, is kind) string {
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

func kindOfType(t reflect.Type) kind {
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

func structFields(t reflect.Type, fields map[string]reflect.Type) map[string]reflect.Type {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			structFields(f.Type, fields)
		case name != "":
			fields[name] = f.Type
		}
	}
	return fields
}
