// Package reporttest has plans, events and golden files for the tests of the
// views.
package reporttest

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the goldens")

// CompareGolden compares a text with a golden file of the package, or writes
// this file with -update.
func CompareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

// Hostile is a possible answer of a host: it clears the screen, changes the title of the window, reverses the
// line, and then imitates another line.
const Hostile = "x\x1b[2J\x1b]0;t\x07\u202e\u009b1m\r\nworker-99 done"

// HostileValue returns a value in which every text is Hostile.
func HostileValue[T any]() T { return FilledValue[T](Hostile) }

// FilledValue returns a value in which every text is that text.
func FilledValue[T any](text string) T {
	var v T
	fillTexts(reflect.ValueOf(&v).Elem(), text, 8)
	return v
}

// fillTexts sets every text of v, at all depths of its types. Words of the program stay empty.
func fillTexts(v reflect.Value, text string, depth int) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(text)
		}
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillTexts(v.Elem(), text, depth-1)
		}
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fillTexts(v.Index(0), text, depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[time.Time]() && v.Field(i).CanSet() {
				fillTexts(v.Field(i), text, depth)
			}
		}
	}
}
