package hostscript_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

// A host whose disk is full can still be released: a release writes nothing that it needs
// (https://github.com/bootc-dev/bootc/issues/1789).
func TestReleaseOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "hold.json")
	if err := os.WriteFile(file, []byte("{\n\"schema\":1,\n\"kind\":\"run\",\n\"run\":\"r1\",\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
	script := hostscript.ReleaseScript(engine.HoldOwner{Run: "r1"}, engine.Release{})
	script = strings.NewReplacer("/var/lib/holdfast", dir, "/etc/", dir+"/etc/", "systemctl", "true").Replace(script)
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	if _, left := os.Stat(file); err != nil || left == nil {
		t.Errorf("%v, %s, the hold is left: %t", err, out, left == nil)
	}
}
