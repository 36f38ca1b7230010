package wire

import (
	"reflect"
	"strings"
)

// RewriteTexts returns v with f applied to every text: fields, elements of lists,
// keys and values of maps. It walks through the types of v, so that no field can
// be forgotten. Words of the program, such as the kind of an event, count as texts
// only if words is set. Times, durations and numbers never do. RewriteTexts never
// changes v, and copies only values with a text that f changes, so a caller must
// not change the result.
func RewriteTexts[T any](v T, words bool, f func(string) string) T {
	return rewrite(v, rewriter{words: words, f: f})
}

// withLists returns v with an empty list in place of each nil list that would
// become null in JSON. It copies only values with such a list.
func withLists[T any](v T) T { return rewrite(v, rewriter{lists: true}) }

func rewrite[T any](v T, w rewriter) T {
	w.fields = map[reflect.Type][]visitedField{}
	if r, changed := w.rewriteValue(reflect.ValueOf(&v).Elem()); changed {
		reflect.ValueOf(&v).Elem().Set(r)
	}
	return v
}

type rewriter struct {
	words bool
	lists bool                // make nil lists empty
	f     func(string) string // nil: texts stay the same

	fields map[reflect.Type][]visitedField // fields of a struct that may change
}

type visitedField struct {
	index   int
	omitNil bool // a nil list has no place in the JSON, so it stays nil
}

var textType = reflect.TypeFor[string]()

// rewriteValue returns another value if a text of v changes, because other code
// uses v, too.
func (w rewriter) rewriteValue(v reflect.Value) (r reflect.Value, changed bool) {
	switch v.Kind() {
	case reflect.String:
		return w.rewriteString(v)
	case reflect.Struct:
		return w.rewriteStruct(v)
	case reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		inside, changed := w.rewriteValue(v.Elem())
		if !changed {
			return v, false
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(inside)
		return p, true
	case reflect.Slice:
		return w.rewriteList(v)
	case reflect.Map:
		return w.rewriteMap(v)
	case reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		return w.rewriteValue(v.Elem())
	default:
		return v, false
	}
}

func (w rewriter) rewriteString(v reflect.Value) (reflect.Value, bool) {
	if w.f == nil || !w.words && v.Type() != textType {
		return v, false
	}
	text := w.f(v.String())
	if text == v.String() {
		return v, false
	}
	s := reflect.New(v.Type()).Elem()
	s.SetString(text)
	return s, true
}

// fieldsToVisit returns the fields of a struct in which something may change. Most
// fields of a plan have no list that could be null, and a plan is large.
func (w rewriter) fieldsToVisit(t reflect.Type) []visitedField {
	fields, ok := w.fields[t]
	if ok {
		return fields
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.IsExported() && (w.isNullable(f) || w.mayChange(f.Type, map[reflect.Type]bool{})) {
			fields = append(fields, visitedField{i, w.lists && f.Type.Kind() == reflect.Slice && !w.isNullable(f)})
		}
	}
	w.fields[t] = fields
	return fields
}

// isNullable reports whether a field is a list that is null in JSON if it is nil.
func (w rewriter) isNullable(f reflect.StructField) bool {
	return w.lists && f.Type.Kind() == reflect.Slice && !strings.Contains(f.Tag.Get("json"), ",omit")
}

// mayChange reports whether a value of this type may have a text or a list that changes.
func (w rewriter) mayChange(t reflect.Type, visited map[reflect.Type]bool) bool {
	if visited[t] {
		return false
	}
	visited[t] = true
	switch t.Kind() {
	case reflect.String:
		return w.f != nil
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice:
		return w.mayChange(t.Elem(), visited)
	case reflect.Map:
		return w.mayChange(t.Key(), visited) || w.mayChange(t.Elem(), visited)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && (w.isNullable(f) || w.mayChange(f.Type, visited)) {
				return true
			}
		}
	default: // numbers do not change
	}
	return false
}

func (w rewriter) rewriteStruct(v reflect.Value) (r reflect.Value, changed bool) {
	r = v
	for _, f := range w.fieldsToVisit(v.Type()) {
		if f.omitNil && v.Field(f.index).IsNil() {
			continue
		}
		field, differs := w.rewriteValue(v.Field(f.index))
		if !differs {
			continue
		}
		if !changed {
			r, changed = reflect.New(v.Type()).Elem(), true
			r.Set(v)
		}
		r.Field(f.index).Set(field)
	}
	return r, changed
}

func (w rewriter) rewriteList(v reflect.Value) (r reflect.Value, changed bool) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return v, false // bytes are not in any output, and may be many
	}
	if v.IsNil() && w.lists {
		return reflect.MakeSlice(v.Type(), 0, 0), true
	}
	r = v
	for i := range v.Len() {
		element, differs := w.rewriteValue(v.Index(i))
		if !differs {
			continue
		}
		if !changed {
			r, changed = reflect.MakeSlice(v.Type(), v.Len(), v.Len()), true
			reflect.Copy(r, v)
		}
		r.Index(i).Set(element)
	}
	return r, changed
}

func (w rewriter) rewriteMap(v reflect.Value) (r reflect.Value, changed bool) {
	for k, e := range v.Seq2() {
		_, keyDiffers := w.rewriteValue(k)
		_, entryDiffers := w.rewriteValue(e)
		if changed = keyDiffers || entryDiffers; changed {
			break
		}
	}
	if !changed {
		return v, false
	}
	entries := reflect.MakeMapWithSize(v.Type(), v.Len())
	for k, e := range v.Seq2() {
		key, _ := w.rewriteValue(k)
		entry, _ := w.rewriteValue(e)
		entries.SetMapIndex(key, entry)
	}
	return entries, true
}
