package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// packStub packages a stub of the program with a checkout of few files, and returns the packages by their names.
func packStub(t *testing.T, tool string) map[string][]byte {
	t.Helper()
	root, stage, out := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{"docs/metrics.md", "examples/two/b.hcl", "inventories/c.hcl", "playbooks/cron.md", "README.md", "CHANGELOG.md"} {
		if err := writeFile(filepath.Join(root, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"holdfast": 0o755, "man/holdfast.1": 0o644, "holdfast.bash": 0o644, "holdfast.zsh": 0o644, "holdfast.fish": 0o644} {
		if err := writeFile(filepath.Join(stage, name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	src := source{dir: root, commit: strings.Repeat("a", 40), version: "0.0.0~20261121.aaaaaaaaaaaa", time: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
	if err := (packer{source: src, arch: "amd64", stage: stage, out: out, tool: []string{tool}}).packAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	packages := map[string][]byte{}
	list, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if packages[p.Name()], err = os.ReadFile(filepath.Join(out, p.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return packages
}

// TestSameBytes: the same files make the same packages, at another time, in other folders, and with another umask.
func TestSameBytes(t *testing.T) {
	tool, err := exec.LookPath("nfpm")
	if err != nil {
		t.Skip("nfpm is missing; go install " + nfpmModule + " installs it")
	}
	first := packStub(t, tool)
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	t.Setenv("TZ", "Asia/Tokyo")
	second := packStub(t, tool)
	if len(first) != 2 || len(second) != 2 {
		t.Fatalf("%d and %d packages", len(first), len(second))
	}
	for name, data := range first {
		if !bytes.Equal(data, second[name]) {
			t.Errorf("%s differs when it is made again", name)
		}
	}
}

// TestScriptsKeepSites: no script of the packages removes anything.
func TestScriptsKeepSites(t *testing.T) {
	for _, name := range []string{"postinstall.sh", "preremove.sh", "postremove.sh"} {
		text, err := files.ReadFile("files/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"rm ", "userdel", "deluser", "rmdir", "systemctl start", "systemctl enable", "systemctl stop 'holdfast@*.service'"} {
			if strings.Contains(string(text), word) {
				t.Errorf("%s has %q", name, word)
			}
		}
	}
}
