package image

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestRemoveImmutable checks that a tree with immutable folders, which rm cannot remove, is removed.
func TestRemoveImmutable(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "image")
	root := filepath.Join(dir, "deploy", "a.0")
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "usr"), 0o755), SetImmutable(root, true)); err != nil {
		t.Fatal(err)
	}
	if os.RemoveAll(dir) == nil {
		t.Skip("this account or file system makes nothing immutable")
	}
	if err := errors.Join(Remove(dir), Remove(dir)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error(err)
	}
}
