package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
)

// TestRenderOnATerminal checks that render warns about secrets only on a
// terminal. testdata/script/render.txtar checks the rest.
func TestRenderOnATerminal(t *testing.T) {
	person, tty, err := terminalPair()
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	var work conc.WaitGroup
	shown := watchTerminal(person, &work)
	dir := remoteSite(t, `{"ignition": {"version": "3.4.0"}, "kernelArguments": {}}`)
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	if code := run([]string{"render", "h", "-i", filepath.Join(dir, "site.hcl")}, os.Stdin, tty, stderr); code != engine.ExitOK {
		t.Errorf("exit %d", code)
	}
	if err := shown.awaitText("applied.json"); err != nil {
		t.Error(err)
	}
	_ = tty.Close()
	work.Wait()
	_ = person.Close()
	said, err := os.ReadFile(stderr.Name())
	if err != nil || !strings.Contains(string(said), "this holds secrets") {
		t.Errorf("%v %s", err, said)
	}
}
