package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

// makeFolder makes a folder with these entries. An entry that ends in / is a
// folder.
func makeFolder(t *testing.T, entries ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, e := range entries {
		path := filepath.Join(dir, e)
		if strings.HasSuffix(e, "/") {
			e += "x"
			path = filepath.Join(dir, e)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func labIn(t *testing.T, dir string) *Lab {
	t.Helper()
	l, err := Open(dir, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestAFolderWithOtherFilesIsRefused checks that --dir refuses a folder of
// somebody else, before anything in the folder is made or removed.
func TestAFolderWithOtherFilesIsRefused(t *testing.T) {
	t.Parallel()
	for _, entries := range [][]string{
		{".git/", "main.go"},
		{"bin/", "site/", "image/"},
		{"lock", "status"},
		{"lab.json"},
	} {
		dir := makeFolder(t, entries...)
		before := listNames(t, dir)
		l := labIn(t, dir)
		for what, do := range map[string]func() error{
			"up":   func() error { return l.Up(t.Context(), spec.Spec{}, Options{}) },
			"test": func() error { return l.Prepare(t.Context(), image.DefaultSuite) },
			"demo": l.Claim,
			"down": func() error { return l.Down(t.Context(), true) },
		} {
			if err := do(); err == nil || !strings.Contains(err.Error(), "not a lab") || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s in a folder with %s: %v", what, entries, err)
			}
		}
		if after := listNames(t, dir); after != before {
			t.Errorf("a folder with %s has %s now", before, after)
		}
	}
}

func TestALabsFolderIsTaken(t *testing.T) {
	t.Parallel()
	for _, entries := range [][]string{
		nil,
		{"lost+found/"},
		{"lock"},
		{"made-by-holdfast-lab"},
		{"made-by-holdfast-lab", "image/", "notes.txt"}, // rm has removed the rest
		{"lock", "image/"},
		{"lock", "demo/"}, // the demo builds holdfast while it brings the lab up
		{"lock", "bin/", "pki/", "lab.json.new", "lost+found/"},
		{"lock", "image/", "lab.json", "hosts/", "notes.txt"},
	} {
		dir := makeFolder(t, entries...)
		if err := labIn(t, dir).Claim(); err != nil {
			t.Errorf("a folder with %s: %v", entries, err)
		}
	}
	missing := labIn(t, filepath.Join(t.TempDir(), "new", "lab"))
	for range 2 {
		if err := missing.Claim(); err != nil {
			t.Errorf("a folder that is not there: %v", err)
		}
	}
}

func TestDownAllLeavesWhatIsNotTheLabs(t *testing.T) {
	t.Parallel()
	own := []string{"made-by-holdfast-lab", "lock", "lab.json", "lab.json.new", "image/", "hosts/", "site/", "pki/", "bin/", "demo/", "serve.lock", "serve.log"}
	dir := makeFolder(t, own...)
	if err := labIn(t, dir).removeAll(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder of a lab that is gone: %v", err)
	}
	dir = makeFolder(t, append(own, "notes.txt", ".git/")...)
	if err := labIn(t, dir).removeAll(); err != nil {
		t.Fatal(err)
	}
	if left := listNames(t, dir); left != ".git notes.txt" {
		t.Errorf("left are %q", left)
	}
}

func listNames(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}
