package image

import (
	"os"
	"path/filepath"
	"testing"
)

// TestALinkedImageHasItsOwnVersions: labs side by side share the files of an image, and each may add versions.
func TestALinkedImageHasItsOwnVersions(t *testing.T) {
	dir := t.TempDir()
	first := Store{Dir: filepath.Join(dir, "first")}
	if err := os.MkdirAll(first.Repo(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := first.recordVersion(Version{Version: "1.0", Commit: "a"}); err != nil {
		t.Fatal(err)
	}
	second := Store{Dir: filepath.Join(dir, "second")}
	if err := first.Link(t.Context(), second.Dir); err != nil {
		t.Fatal(err)
	}
	if err := second.recordVersion(Version{Version: "2.0", Commit: "b"}); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]int{first.Dir: 1, second.Dir: 2} {
		if list, err := (Store{Dir: dir}).Versions(); err != nil || len(list) != want {
			t.Errorf("%s: %v, %v", dir, list, err)
		}
	}
}
