package image

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestMachinesWithoutAnID checks an empty file and a missing one: container
// images have either.
func TestMachinesWithoutAnID(t *testing.T) {
	file := filepath.Join(t.TempDir(), "machine-id")
	if !lacksMachineID(file) {
		t.Error("a machine without the file has an ID")
	}
	for text, want := range map[string]bool{"": true, "uninitialized\n": true, "0123456789abcdef0123456789abcdef\n": false} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := lacksMachineID(file); got != want {
			t.Errorf("%q lacks an ID: %v, want %v", text, got, want)
		}
	}
}

// TestHostsAreCheckedWithDebianKeys: a machine that is not Debian does not trust Debian's keys, and need not have gpg.
func TestHostsAreCheckedWithDebianKeys(t *testing.T) {
	const file = "/usr/share/keyrings/debian-archive-keyring.gpg"
	if args := (Store{Suite: Trixie}).bootstrapArgs(); !slices.Contains(args, "--keyring="+file) {
		t.Errorf("mmdebstrap is not told about %s: %q", file, args)
	}
	if !slices.ContainsFunc(tools, func(tool tool) bool { return tool.path == file }) {
		t.Errorf("the package with %s is not installed", file)
	}
}
