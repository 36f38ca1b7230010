package config

import (
	"encoding/base64"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

// processorTime returns the processor time of this process. Unlike wall-clock
// time, it does not depend on other processes.
func processorTime(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

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
			b.SetBytes(int64(doc.Len()))
			b.ReportAllocs()
			before := processorTime(b)
			defer func() {
				b.ReportMetric(float64(doc.Len()*b.N)/1e6/(processorTime(b)-before).Seconds(), "MB/cpu-s")
			}()
			for b.Loop() {
				if loaded, err := Load(src); err != nil || len(loaded.Config.Files) != n {
					b.Fatal(err)
				}
			}
		})
	}
}
