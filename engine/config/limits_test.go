package config

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"
	"testing/fstest"
)

// Small documents that stand for huge ones are refused before they fill the
// memory.
func TestLimits(t *testing.T) {
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := byte('1'); i <= '9'; i++ {
		laughs += strings.ReplaceAll("aN: &aN [*aP, *aP, *aP, *aP, *aP, *aP, *aP, *aP, *aP, *aP]\n", "N", string(i))
		laughs = strings.ReplaceAll(laughs, "aP", "a"+string(i-1))
	}
	ignition := func(file string) string {
		return `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a","contents":` + file + `}]}}`
	}
	for _, tc := range []struct{ name, file, text, want string }{
		{"aliases of aliases", "x.yaml", laughs, "fewer aliases"},
		{"an alias within itself", "x.yaml", "a: &a [*a]\n", "fewer aliases"},
		{"nested YAML", "x.yaml", strings.Repeat("[", 200) + strings.Repeat("]", 200), "flatter"},
		{"nested JSON", "x.json", `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}", "flatter"},
		{"compressed", "x.ign", ignition(`{"compression":"gzip","source":"` + zeros(maxContents+1) + `"}`), "more than 64 MiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Load(Source{FS: fstest.MapFS{tc.file: {Data: []byte(tc.text)}}, Paths: []string{tc.file}})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// zeros is a data: URL of n compressed zeros.
func zeros(n int) string {
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
