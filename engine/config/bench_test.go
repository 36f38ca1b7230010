package config

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// BenchmarkLoad reads one Ignition document with files of 4 KiB.
func BenchmarkLoad(b *testing.B) {
	contents := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("holdfast", 512)))
	for _, n := range []int{10, 100, 1000, 10_000} {
		var doc strings.Builder
		doc.WriteString(`{"ignition":{"version":"3.4.0"},"storage":{"files":[`)
		for i := range n {
			if i > 0 {
				doc.WriteByte(',')
			}
			fmt.Fprintf(&doc, `{"path":"/etc/app/%05d.conf","mode":420,"contents":{"source":"data:;base64,%s"}}`, i, contents)
		}
		doc.WriteString("]}}")
		src := Source{FS: fstest.MapFS{"x.ign": {Data: []byte(doc.String())}}, Paths: []string{"x.ign"}}
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			for b.Loop() {
				if loaded, err := Load(src); err != nil || len(loaded.Config.Files) != n {
					b.Fatal(err)
				}
			}
		})
	}
}
