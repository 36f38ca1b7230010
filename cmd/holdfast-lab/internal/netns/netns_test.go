package netns

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestStaleNamespace checks a plain file under the name of a namespace, as after a restart of the
// machine. The error names the cause, and the namespace can still be made and removed.
func TestStaleNamespace(t *testing.T) {
	old := folder
	folder = t.TempDir()
	t.Cleanup(func() { folder = old })
	n := Namespace("holdfast-lab-test")
	if exists, err := n.exists(); err != nil || exists {
		t.Errorf("without a file: %v, %v", exists, err)
	}
	leave := func() {
		if err := os.WriteFile(n.path(), nil, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	if all, err := List("holdfast-lab"); err != nil || len(all) > 0 {
		t.Errorf("list: %v, %v", all, err)
	}
	err := n.Do(func() error { t.Error("called"); return nil })
	if err == nil || !strings.Contains(err.Error(), n.path()) || !strings.Contains(err.Error(), "left by a lab that was killed") {
		t.Errorf("enter: %v", err)
	}
	if exists, err := n.exists(); err != nil || exists {
		t.Errorf("with a plain file: %v, %v", exists, err)
	}
	if _, err := os.Lstat(n.path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the plain file is still there: %v", err)
	}
	leave()
	if err := n.Down(t.Context()); err != nil {
		t.Errorf("down: %v", err)
	}
	if _, err := os.Lstat(n.path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the plain file is still there: %v", err)
	}
}

// TestOwnNamespaceIsOne checks that the namespace of this process is not taken
// for a plain file.
func TestOwnNamespaceIsOne(t *testing.T) {
	f, err := openNamespace("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
}
