package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
)

// TestScriptsOnABareMachine runs scripts on a machine with the tools of a test
// host only: no sudo, ostree, etcd or systemctl. All other tests run with traps
// of these names in PATH. With HOLDFAST_LONG it runs all scripts.
func TestScriptsOnABareMachine(t *testing.T) {
	t.Parallel()
	tools := filepath.Join(t.TempDir(), "tools")
	if err := pathtest.Link(tools); err != nil {
		t.Fatal(err)
	}
	scripts := "^TestScripts$/^(reach|sudo)$"
	if longtest.On() {
		scripts = "^TestScripts$"
	}
	child := exec.Command(os.Args[0], "-test.run="+scripts)
	child.Env = append(os.Environ(), "PATH="+tools, pathtest.NoTraps+"=yes")
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
