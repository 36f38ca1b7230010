package live_test

import (
	"bytes"
	"strings"
	"testing"

	"holdfast/engine/report/live"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/termtext"
)

// TestLive checks that at the end a terminal has all lines in order, and no
// live status.
func TestLive(t *testing.T) {
	var out bytes.Buffer
	live := live.New(&out, termtext.Style{}, true)
	reporttest.EmitAll(t, live)
	live.Close()
	text := out.String()
	if strings.Contains(text, "$p") {
		t.Error("the terminal is asked something, and nobody reads the answer")
	}
	last := 0
	for _, want := range []string{"20261121-080000-0001", "8 of 9 hosts", "batch 1", "etcd-1 done", "worker-01 failed", "etcd main: 2 of 3 voters healthy at the least", "exit 3"} {
		i := strings.Index(text[last:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or in the wrong order, in\n%q", want, text)
		}
		last += i
	}
}
