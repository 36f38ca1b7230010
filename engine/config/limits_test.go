package config

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/engine/config/syntax"
	"holdfast/engine/longtest"
)

// Small documents that expand to huge ones are refused before they fill the
// memory.
func TestLimits(t *testing.T) {
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := byte('1'); i <= '9'; i++ {
		laughs += strings.ReplaceAll("aN: &aN [*aP, *aP, *aP, *aP, *aP, *aP, *aP, *aP, *aP, *aP]\n", "N", string(i))
		laughs = strings.ReplaceAll(laughs, "aP", "a"+string(i-1))
	}
	long := "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 200) + "]\n"
	ignition := func(file string) string {
		return `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a","contents":` + file + `}]}}`
	}
	for _, tc := range []struct{ name, file, text, want string }{
		{"aliases of aliases", "x.yaml", laughs, "fewer aliases"},
		{"an alias within itself", "x.yaml", "a: &a [*a]\n", "fewer aliases"},
		{"nested YAML", "x.yaml", strings.Repeat("[", 200) + strings.Repeat("]", 200), "flatter"},
		{"nested JSON", "x.json", `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}", "flatter"},
		{"aliases of a long string", "x.yaml", long, "or 128 MiB"},
		{"nested YAML, very deep", "x.yaml", strings.Repeat("[", 200_000), "x.yaml:1: is not valid YAML"},
		{"nested Butane", "x.bu", "variant: fcos\nversion: 1.5.0\nx: " + strings.Repeat("[", 200) + strings.Repeat("]", 200), "flatter"},
		{"nested JSON, very deep", "x.json", `{"a":` + strings.Repeat("[", 200_000), "x.json:1:106: values are nested more than 100 deep"},
		{"nested objects, very deep", "x.json", strings.Repeat(`{"a":`, 200_000), "x.json:1:506: values are nested more than 100 deep"},
		{"many values in JSON", "x.json", `{"a":[0` + strings.Repeat(",0", 2_000_000) + "]}", "more than 2000000 values"},
		{"many values in YAML", "x.yaml", "a: [0" + strings.Repeat(",0", 2_000_000) + "]", "more than 2000000 values"},
		{"many documents", "x.yaml", strings.Repeat("---\n", 2*syntax.MaxYAMLDocuments), "more than 10000 document markers"},
		{"compressed", "x.ign", ignition(`{"compression":"gzip","source":"` + zerosURL(maxContents+1) + `"}`), "more than 64 MiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.name == "many values in YAML" { // it takes seconds, and aliases of aliases are counted alike
				longtest.SkipSlow(t)
			}
			_, err := Load(Source{FS: fstest.MapFS{tc.file: {Data: []byte(tc.text)}}, Paths: []string{tc.file}})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// zerosURL returns a data: URL of n compressed zeros.
func zerosURL(n int) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(make([]byte, n)); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return "data:;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

// Limits that would need too much memory to reach are tested with lower values.
func TestLimitsTogether(t *testing.T) {
	const doc = `{"ignition":{"version":"3.4.0"},"storage":{"files":[
{"path":"/%[1]sa","contents":{"compression":"gzip","source":"%[2]s"}},
{"path":"/%[1]sb","contents":{"compression":"gzip","source":"%[2]s"}},
{"path":"/%[1]sc","append":[{"source":"data:,x"}]},
{"path":"/%[1]sd","contents":{"compression":"gzip","source":"%[2]s"}}]}}`
	file := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, doc, name, zerosURL(3<<20))}
	}
	files := fstest.MapFS{
		"a.ign": file("a"), "b.ign": file("b"), "c.ign": file("c"), "d.ign": {Data: []byte(`{"ignition":{"version":"3.4.0"}}` + strings.Repeat(" ", 2<<20))},
		"device.ign": {Mode: fs.ModeDevice | fs.ModeCharDevice}, "large.bin": {Data: make([]byte, 5<<20)}, "dir/zero": {Mode: fs.ModeDevice}, "dir/1": {Data: make([]byte, 3<<20)}, "dir/2": {Data: make([]byte, 3<<20)},
	}
	for name, local := range map[string]string{"large.bu": "contents: {local: large.bin}", "zero.bu": "contents: {local: dir/zero}"} {
		files[name] = &fstest.MapFile{Data: []byte("variant: fcos\nversion: 1.5.0\nstorage:\n  files:\n    - path: /a\n      " + local + "\n")}
	}
	files["tree.bu"] = &fstest.MapFile{Data: []byte("variant: fcos\nversion: 1.5.0\nstorage:\n  trees:\n    - local: dir\n")}
	for _, tc := range []struct {
		name   string
		paths  []string
		limits limits
		want   string // "" is no error
	}{
		{"within all", []string{"a.ign", "b.ign"}, limits{4 << 20, 10 << 20, 19 << 20, 1 << 20, 1000}, ""},
		{"a file", []string{"a.ign"}, limits{2 << 20, 7 << 20, 13 << 20, 1 << 20, 1000}, "a.ign:2:57: storage.files[0].contents.source: has more than 2 MiB"},
		{"a document", []string{"a.ign"}, limits{4 << 20, 5 << 20, 13 << 20, 1 << 20, 1000}, "a.ign:3:57: storage.files[1].contents.source: exceeds the limit of 5 MiB for the contents of this document"},
		{"all documents", []string{"a.ign", "b.ign", "c.ign"}, limits{4 << 20, 10 << 20, 19 << 20, 1 << 20, 1000}, "c.ign:2:57: storage.files[0].contents.source: exceeds the limit of 19 MiB for the contents of all documents"},
		{"all texts", []string{"a.ign", "d.ign"}, limits{4 << 20, 7 << 20, 13 << 20, 1 << 20, 1000}, "d.ign: exceeds the limit of 1 MiB for all documents"},
		{"a device", []string{"device.ign"}, defaultLimits, "device.ign: is not a regular file"},
		{"a large local file", []string{"large.bu"}, limits{4 << 20, 7 << 20, 13 << 20, 1 << 20, 1000}, "large.bu:6:25: storage.files[0].contents.local: has more than 4 MiB"},
		{"a local file that is none", []string{"zero.bu"}, defaultLimits, "zero.bu:6:25: storage.files[0].contents.local: is not a regular file"},
		{"a large tree", []string{"tree.bu"}, limits{4 << 20, 5 << 20, 13 << 20, 1 << 20, 1000}, "tree.bu:5:14: storage.trees[0].local: exceeds the limit of 5 MiB for the local files"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cache := NewCache()
			cache.contents.limits = tc.limits
			_, err := Load(Source{FS: files, Paths: tc.paths, Cache: cache})
			if err != nil && strings.Count(err.Error(), "for the contents of this document") > 1 {
				t.Errorf("says it more than once: %v", err)
			}
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}
