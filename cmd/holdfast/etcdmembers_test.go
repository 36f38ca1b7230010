package main

import (
	"io"
	"os"
	"testing"
)

// TestPlanIsShownBeforeTheQuestion: nobody is asked about steps that were not shown, also with --json; standard output then has
// events only.
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
		a := &app{stdout: stdout, stderr: stderr, json: c.json}
		if got := a.planWriter(c.asks); got != c.want {
			t.Errorf("json %v, asks %v: %v", c.json, c.asks, got)
		}
	}
}
