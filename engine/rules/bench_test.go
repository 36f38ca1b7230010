package rules

import (
	"bytes"
	"fmt"
	"testing"

	"holdfast/engine/resource"
)

// manyFiles returns a configuration of n files of 4 KiB. Every "every"th file
// depends on the revision.
func manyFiles(n, every int, revision byte) resource.Config {
	mode := 0o644
	var c resource.Config
	for i := range n {
		contents := bytes.Repeat([]byte{byte(i)}, 4096)
		if i%every == 0 {
			contents[4095] = revision
		}
		c.Files = append(c.Files, resource.File{Path: fmt.Sprintf("/etc/app/%05d.conf", i), Contents: contents, Sum: resource.Digest(contents), Mode: &mode})
	}
	return c
}

// BenchmarkCompare compares configurations in which 1 % of the files differ. It
// is the slowest case, because the files differ in their last byte.
func BenchmarkCompare(b *testing.B) {
	policy, err := NewPolicy([]Rule{onPath("/etc/app", "reload app"), onGlob("/etc/app/*.d", "none")})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{10, 100, 1000, 10_000} {
		old, new := manyFiles(n, 100, 'a'), manyFiles(n, 100, 'b')
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			for b.Loop() {
				d, err := Compare(old, new, policy)
				if err != nil || len(d.Changes) != (n+99)/100 {
					b.Fatal(len(d.Changes), err)
				}
			}
		})
	}
}
