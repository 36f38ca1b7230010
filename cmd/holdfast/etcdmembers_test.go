package main

import (
	"io"
	"os"
	"testing"
)

// TestPlanIsShownBeforeTheQuestion checks that the command shows the steps before it asks about
// them, also with --json. Then standard output has only events.
func TestPlanIsShownBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	stdout, stderr := &os.File{}, &os.File{}
	for _, c := range []struct {
		json, asks bool
		want       io.Writer
	}{
		{false, false, stdout},
		{false, true, stdout},
		{true, true, stderr},
		{true, false, io.Discard},
	} {
		a := &console{stdout: stdout, stderr: stderr, json: c.json}
		if got := a.planWriter(c.asks); got != c.want {
			t.Errorf("json %v, asks %v: %v", c.json, c.asks, got)
		}
	}
}
