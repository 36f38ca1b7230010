package image

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOneKernel checks that a tree with more or less than one kernel is refused
// with their number.
func TestOneKernel(t *testing.T) {
	root := t.TempDir()
	for _, c := range []struct{ release, want string }{
		{"", "find kernel: usr/lib/modules of " + root + " has 0 entries, but must have exactly one: the folder of the kernel"},
		{"6.1", ""},
		{"6.2", "find kernel: usr/lib/modules of " + root + " has 2 entries, but must have exactly one: the folder of the kernel"},
	} {
		if err := os.MkdirAll(filepath.Join(root, "usr/lib/modules", c.release), 0o755); err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := kernelRelease(root); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}
