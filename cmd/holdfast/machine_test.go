package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
)

// TestScriptsOnABareMachine runs scripts on a machine that has only the tools of
// a test host: no sudo, ostree, etcd or systemctl. All other tests have traps of
// these names in PATH. With HOLDFAST_LONG, the test runs all scripts.
func TestScriptsOnABareMachine(t *testing.T) {
	t.Parallel()
	longtest.SkipSlow(t)
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
