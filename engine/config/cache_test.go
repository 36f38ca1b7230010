package config

import (
	"fmt"
	"reflect"
	"testing"
	"testing/fstest"
)

// A cache changes neither configurations nor errors nor warnings, and each path
// is read only once.
func TestCache(t *testing.T) {
	const doc = "variant: fcos\nversion: 1.5.0\nstorage: {files: [{path: /etc/%s, append: [{inline: x}]}]}\n"
	files := fstest.MapFS{
		"base/b.bu": {Data: fmt.Appendf(nil, doc, "b")}, "base/a.bu": {Data: fmt.Appendf(nil, doc, "a")}, "base/README": {},
		"own.bu": {Data: fmt.Appendf(nil, doc, "a")}, "bad.bu": {Data: []byte("variant: fcos\nversion: 1.5.0\nstorag: {}\n")},
	}
	cache := NewCache()
	for _, paths := range [][]string{{"base", "own.bu"}, {"own.bu", "base"}, {"base", "own.bu"}, {"bad.bu", "base"}, {"base", "bad.bu"}, {"base"}} {
		want, wantErr := Load(Source{FS: files, Paths: paths})
		got, err := Load(Source{FS: files, Paths: paths, Cache: cache})
		if !reflect.DeepEqual(err, wantErr) || !reflect.DeepEqual(got.Config, want.Config) ||
			!reflect.DeepEqual(got.Warnings, want.Warnings) || !reflect.DeepEqual(got.Documents, want.Documents) {
			t.Errorf("%v: got %v %+v, want %v %+v", paths, err, got, wantErr, want)
		}
	}
	delete(files, "base/a.bu")
	if got, err := Load(Source{FS: files, Paths: []string{"base"}, Cache: cache}); err != nil || len(got.Config.Files) != 2 {
		t.Errorf("read again: %v %+v", err, got)
	}
}
