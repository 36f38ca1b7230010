package lines_test

import (
	"bytes"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/lines"
)

// TestPlainGates checks that the line of a gate has its last answer, and the
// host for gates about hosts.
func TestPlainGates(t *testing.T) {
	var b bytes.Buffer
	for _, e := range []event.Event{
		{Type: event.StepProgress, Step: "gate ceph", Message: "exit status 1: HEALTH_WARN"},
		{Type: event.StepProgress, Step: "gate disk", Host: "worker-1", Message: "exit status 1"},
		{Type: event.StepProgress, Step: "wait for units", Host: "worker-1", Message: "crio.service has failed", Took: engine.Duration(90 * time.Second)},
	} {
		if err := (&lines.Writer{W: &b, Short: true}).Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	if want := "  gate ceph: exit status 1: HEALTH_WARN\n  worker-1: gate disk: exit status 1\n" +
		"  worker-1: wait for units goes on, 1m30s by now: crio.service has failed\n"; b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
