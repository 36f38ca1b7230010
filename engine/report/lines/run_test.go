package lines_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/lines"
	"holdfast/engine/report/live"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/termtext"
)

func TestPlain(t *testing.T) {
	for name, p := range map[string]lines.Writer{
		"run": {Short: true}, "run-terse": {Short: true, Terse: true}, "run-plan": {Short: true, Plan: true},
	} {
		var b bytes.Buffer
		p.W = &b
		reporttest.EmitAll(t, &p)
		reporttest.CompareGolden(t, name, b.String())
		if strings.Contains(b.String(), "\x1b") {
			t.Errorf("%s: what a host said reaches the terminal as it is", name)
		}
	}
}

// TestCanaryLines checks that the line of a batch names the pools whose
// canaries are in the batch, also on a terminal.
func TestCanaryLines(t *testing.T) {
	events := []event.Event{
		{Type: event.BatchStarted, Batch: 1, Hosts: []string{"edge-0", "worker-01", "worker-02"}, Canaries: []string{"edge", "worker"}},
		{Type: event.BatchEnded, Batch: 1, Canaries: []string{"edge", "worker"}, Took: engine.Duration(time.Second)},
		{Type: event.BatchStarted, Batch: 2, Hosts: []string{"worker-03"}},
	}
	var plain, terminal bytes.Buffer
	p, live := lines.Writer{W: &plain, Short: true}, live.New(&terminal, termtext.Style{}, false)
	for _, e := range events {
		if err := p.Emit(e); err != nil {
			t.Fatal(err)
		}
		if err := live.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	live.Close()
	want := "batch 1 (canary of edge, worker)  edge-0, worker-[01-02]\nbatch 1 (canary of edge, worker) done in 1.0 s\nbatch 2  worker-03\n"
	if plain.String() != want {
		t.Errorf("got\n%swant\n%s", plain.String(), want)
	}
	for line := range strings.Lines(want) {
		if !strings.Contains(terminal.String(), strings.TrimSpace(line)) {
			t.Errorf("the terminal lacks %q:\n%q", line, terminal.String())
		}
	}
}
