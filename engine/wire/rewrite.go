package wire

import "reflect"

// RewriteTexts returns v with f applied to every text: fields, elements of lists,
// keys and values of maps. It walks through the types of v, so that no field can
// be forgotten. Words of the program, such as the kind of an event, count as texts
// only if words is set. Times, durations and numbers never do. RewriteTexts never
// changes v, and copies only values with a text that f changes, so a caller must
// not change the result.
func RewriteTexts[T any](v T, words bool, f func(string) string) T {
	return rewrite(v, rewriter{words: words, f: f})
}

// withLists returns v with an empty list in place of each nil list, which would
// become null in JSON.
func withLists[T any](v T) T { return rewrite(v, rewriter{lists: true}) }

func rewrite[T any](v T, w rewriter) T {
	if r, changed := w.rewriteValue(reflect.ValueOf(&v).Elem()); changed {
		reflect.ValueOf(&v).Elem().Set(r)
	}
	return v
}

type rewriter struct {
	words bool
	lists bool                // make nil lists empty
	f     func(string) string // nil: texts stay the same
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

func (w rewriter) rewriteStruct(v reflect.Value) (r reflect.Value, changed bool) {
	r = v
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		field, differs := w.rewriteValue(v.Field(i))
		if !differs {
			continue
		}
		if !changed {
			r, changed = reflect.New(v.Type()).Elem(), true
			r.Set(v)
		}
		r.Field(i).Set(field)
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
	if v.IsNil() {
		return v, false
	}
	entries := reflect.MakeMapWithSize(v.Type(), v.Len())
	for k, e := range v.Seq2() {
		key, keyDiffers := w.rewriteValue(k)
		entry, entryDiffers := w.rewriteValue(e)
		changed = changed || keyDiffers || entryDiffers
		entries.SetMapIndex(key, entry)
	}
	if !changed {
		return v, false
	}
	return entries, true
}
