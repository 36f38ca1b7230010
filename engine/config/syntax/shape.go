package syntax

import (
	"reflect"
	"strconv"
	"strings"

	"holdfast/engine/resource"
)

// ShapeChecker checks that a value has the fields and types of a Go type, by
// the names in its json tags. encoding/json would ignore unknown fields, and
// would accept names in another case.
type ShapeChecker struct {
	File   string
	Format string // kind of document, for messages
	Report *Problems
	fields map[reflect.Type]map[string]reflect.Type
}

func (s ShapeChecker) nodePlace(n *Node, p FieldPath) resource.SourcePosition {
	return resource.SourcePosition{File: s.File, Line: n.Line, Column: n.Column, Path: p.String()}
}

// CheckValue reports the fields and values of a node that the type does not have.
func (s *ShapeChecker) CheckValue(n *Node, t reflect.Type, p FieldPath) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.Kind == NullKind || t.Kind() == reflect.Interface {
		return
	}
	switch want := kindOfType(t); {
	case n.Kind != want:
		s.Report.AddError(s.nodePlace(n, p), "must be %s, not %s%s", want, n.Kind, typeAdvice(want, n.Kind))
		s.clearValue(n, p)
	case t.Kind() == reflect.Struct:
		s.checkObject(n, t, p)
	case t.Kind() == reflect.Slice:
		for i, item := range n.Items {
			s.checkItem(item, t.Elem(), p.With(i))
		}
	case t.Kind() == reflect.Int:
		if _, err := strconv.Atoi(n.Scalar); err != nil {
			s.Report.AddError(s.nodePlace(n, p), "must be a whole number")
			s.clearValue(n, p)
		}
	}
}

// clearValue removes a value of the wrong type, so that the check of the
// document can continue. Errors about the missing value are dropped.
func (s *ShapeChecker) clearValue(n *Node, p FieldPath) {
	n.Kind, n.Scalar, n.Keys, n.Items = NullKind, "", nil, nil
	s.Report.silencePlace(s.nodePlace(n, p))
}

// checkItem refuses null in a list, which would become an empty value.
func (s *ShapeChecker) checkItem(n *Node, t reflect.Type, p FieldPath) {
	if n.Kind == NullKind {
		s.Report.AddError(s.nodePlace(n, p), "is null; set a value or remove it")
		return
	}
	s.CheckValue(n, t, p)
}

func (s *ShapeChecker) checkObject(n *Node, t reflect.Type, p FieldPath) {
	fields := s.fields[t]
	if fields == nil {
		if fields = structFields(t, map[string]reflect.Type{}); s.fields == nil {
			s.fields = map[reflect.Type]map[string]reflect.Type{}
		}
		s.fields[t] = fields
	}
	for i, k := range n.Keys {
		field, ok := fields[k.Name]
		if !ok {
			at := resource.SourcePosition{File: s.File, Line: k.Line, Column: k.Column, Path: p.With(k.Name).String()}
			s.Report.AddError(at, "is not a field of %s; %s", s.Format, fieldAdvice(k.Name, fields))
			continue
		}
		s.CheckValue(n.Items[i], field, p.With(k.Name))
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

func typeAdvice(want, is Kind) string {
	switch {
	case want == BoolKind && is == TextKind:
		return "; write true or false, without quotes"
	case want == NumberKind && is == TextKind:
		return "; write it without quotes"
	case want == TextKind && (is == NumberKind || is == BoolKind):
		return "; put it in quotes"
	}
	return ""
}

func kindOfType(t reflect.Type) Kind {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return ObjectKind
	case reflect.Slice:
		return ListKind
	case reflect.Bool:
		return BoolKind
	case reflect.Int:
		return NumberKind
	}
	return TextKind
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
