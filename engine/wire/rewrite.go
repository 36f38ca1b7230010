package wire

import "reflect"

// RewriteTexts returns a copy of v with f applied to every text: fields,
// elements of lists, keys and values of maps. It walks through the types of v,
// so that no field can be forgotten. Words of the program, such as the kind of
// an event, count as texts only if words is set. Times, durations and numbers
// never do.
func RewriteTexts[T any](v T, words bool, f func(string) string) T {
	rewriter{words: words, f: f}.rewriteValue(reflect.ValueOf(&v).Elem())
	return v
}

// withLists returns a copy of v with an empty list in place of each nil list,
// which would become null in JSON.
func withLists[T any](v T) T {
	rewriter{lists: true}.rewriteValue(reflect.ValueOf(&v).Elem())
	return v
}

type rewriter struct {
	words bool
	lists bool                // make nil lists empty
	f     func(string) string // nil: texts stay the same
}

var textType = reflect.TypeFor[string]()

// rewriteValue rewrites the texts of v, which must be settable. It first copies
// every value behind a pointer, because other code uses that value, too.
func (w rewriter) rewriteValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if w.f != nil && (w.words || v.Type() == textType) {
			v.SetString(w.f(v.String()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				w.rewriteValue(field)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(v.Elem())
			w.rewriteValue(p.Elem())
			v.Set(p)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return // bytes are not in any output, and may be many
		}
		if !v.IsNil() || w.lists {
			list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(list, v)
			for i := range list.Len() {
				w.rewriteValue(list.Index(i))
			}
			v.Set(list)
		}
	case reflect.Map:
		w.rewriteMap(v)
	case reflect.Interface:
		if !v.IsNil() {
			inside := reflect.New(v.Elem().Type()).Elem()
			inside.Set(v.Elem())
			w.rewriteValue(inside)
			v.Set(inside)
		}
	}
}

func (w rewriter) rewriteMap(v reflect.Value) {
	if v.IsNil() {
		return
	}
	entries := reflect.MakeMapWithSize(v.Type(), v.Len())
	for k, e := range v.Seq2() {
		key, entry := reflect.New(k.Type()).Elem(), reflect.New(e.Type()).Elem()
		key.Set(k)
		entry.Set(e)
		w.rewriteValue(key)
		w.rewriteValue(entry)
		entries.SetMapIndex(key, entry)
	}
	v.Set(entries)
}
