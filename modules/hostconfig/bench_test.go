package hostconfig

import (
	"fmt"
	"testing"
)

// BenchmarkWrite measures a write of files that are all new.
func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{10, 100, 500} {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				box := newWriteBox(b)
				data := contents{}
				var edits []testEdit
				for i := range n {
					path := fmt.Sprintf("/etc/d%d/file-%d.conf", i%50, i)
					data[path] = fmt.Sprint("contents ", i)
					edits = append(edits, writtenFile(path))
				}
				w := box.planWrite(data, edits...)
				b.StartTimer()
				box.mustWrite(w)
			}
		})
	}
}
