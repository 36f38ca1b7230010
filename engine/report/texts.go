package report

import (
	"reflect"
	"strings"
	"time"

	"holdfast/engine"
)

// rewrite returns v with f applied to every text in it, however deep: fields,
// elements of lists, keys and values of maps. v itself stays as it is. It goes
// by the types, so that no field can be forgotten. Times, durations and
// numbers are no texts; words of the program, such as the kind of an event,
// are texts only if words is set.
func rewrite[T any](v T, words bool, f func(string) string) T {
	w := rewriter{words: words, f: f}
	out := w.value(reflect.ValueOf(&v).Elem())
	return out.Interface().(T) //nolint:forcetypeassert // it is of the type it was made of
}

// safe is v with every text in it made fit to be shown. What a host says is
// untrusted: it can neither do anything to the terminal nor make lines that
// could be taken for holdfast's own.
func safe[T any](v T) T { return rewrite(v, true, safeText) }

// safeText is a text of a host for a terminal; its lines but the first are
// indented further than any line of holdfast's own.
func safeText(s string) string {
	s = engine.Printable(s)
	if !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return lineBreaks.Replace(strings.TrimRight(s, "\n"))
}

var lineBreaks = strings.NewReplacer("\n", "\n          ", "\t", " ")

type rewriter struct {
	words bool
	f     func(string) string
}

var (
	textType = reflect.TypeFor[string]()
	timeType = reflect.TypeFor[time.Time]()
)

// value is a copy of v with its texts rewritten.
func (w rewriter) value(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.Set(v)
		if w.words || v.Type() == textType {
			out.SetString(w.f(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(w.value(v.Elem()).Addr())
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			out.Index(i).Set(w.value(v.Index(i)))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		}
		for k, e := range v.Seq2() {
			out.SetMapIndex(w.value(k), w.value(e))
		}
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if v.Type() != timeType && v.Type().Field(i).IsExported() {
				out.Field(i).Set(w.value(v.Field(i)))
			}
		}
	default:
		out.Set(v)
	}
	return out
}
